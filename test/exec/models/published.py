"""Prints the losses of Hugging Face's models with the weights that test/exec/weights.sh exports, as that test expects them:

    published.py FOLDER

FOLDER/gpt2.map.safetensors and FOLDER/llama-hf.map.safetensors are the exported files. The models are built from
transformers' configurations; a file must have each of their parameters, and no other tensor. Needs torch, transformers and
safetensors from PyPI; the printed values are in the test.
"""
import pathlib, sys

import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

TOKENS = torch.tensor([[ord(c) - ord("A") + 1 for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZHELLOM"]]).reshape(4, 8)
SIZES = dict(vocab_size=32, bos_token_id=0, eos_token_id=0)
MODELS = {
    "gpt2.map": lambda: GPT2LMHeadModel(GPT2Config(**SIZES, n_positions=8, n_embd=16, n_layer=3, n_head=4, n_inner=32)),
    "llama-hf.map": lambda: LlamaForCausalLM(LlamaConfig(
        **SIZES, hidden_size=16, intermediate_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        head_dim=4, rms_norm_eps=1e-5, max_position_embeddings=8)),
}


def loss(name, path):
    """The loss whose targets are the tokens themselves."""
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    tensors = load_file(path)
    if name == "gpt2.map":
        tensors = {"transformer." + key: value for key, value in tensors.items()}
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    missing = [key for key in missing if key != "lm_head.weight" or name != "gpt2.map"]  # tied
    if missing or unexpected:
        sys.exit(f"{path}: missing {missing}, unexpected {unexpected}")
    with torch.no_grad():
        logits = model(TOKENS).logits
    return torch.nn.functional.cross_entropy(logits.reshape(-1, 32), TOKENS.reshape(-1)).item()


for name in MODELS:
    print(name, f"{loss(name, pathlib.Path(sys.argv[1]) / (name + '.safetensors')):.7f}")
