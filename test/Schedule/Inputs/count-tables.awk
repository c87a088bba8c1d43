# Prints how many places of the arena tensors [model, vocab] of a training step have.
/exec.func @/ { inStep = /@train_step/ }
inStep && /= exec.buffer at .*\[model = 8, vocab = 64/ { if (!seen[$5]++) ++places }
END { print places " places" }
