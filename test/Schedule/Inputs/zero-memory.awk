# Reads the lines "exec.arena_bytes = N" of zero-memory.mesh under data parallelism and
# the stages 1, 2 and 3 of ZeRO. Prints by how much each exceeds the least, in percent,
# and whether each needs less than the one before.
/arena_bytes/ { arena[stages++] = $NF }
END {
  ranks = 8; matrix = 512 * 2048 * 4; rows = 512
  parameters = 16 * matrix
  inputs = 2 * rows * 512 * 4
  # Of each layer its input and the activation, and one gradient of an activation.
  activations = 8 * rows * (512 + 2048) * 4 + rows * 2048 * 4
  state[0] = 3 * parameters
  state[1] = state[2] = parameters + 2 * parameters / ranks
  state[3] = 3 * parameters / ranks
  for (stage = 0; stage < 4; ++stage) {
    # A gradient, and with stage 3 a parameter.
    least = state[stage] + inputs + activations + matrix * (stage == 3 ? 2 : 1)
    excess = 100 * (arena[stage] / least - 1)
    printf "stage %d: %s\n", stage, excess < -1 ? "below the least" : excess < 5 ? "within 5 %" : excess < 10 ? "within 10 %" : excess " % more"
  }
  print arena[1] < arena[0] ? "less" : "more", arena[2] <= arena[1] ? "no more" : "more", arena[3] < arena[2] ? "less" : "more"
}
