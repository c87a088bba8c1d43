"""tiktoken_rate.py FOLDER REPEATS TEXT...: for each text, its tokens and the MB/s at
which tiktoken encodes it on one thread, the best of REPEATS."""
import gzip, sys, time
import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks
from tiktoken_ext.openai_public import r50k_pat_str

folder, repeats = sys.argv[1], int(sys.argv[2])
ranks = data_gym_to_mergeable_bpe_ranks(f"{folder}/vocab.bpe", f"{folder}/encoder.json")
encoding = tiktoken.Encoding("gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
for path in sys.argv[3:]:
    data = (gzip.open if path.endswith(".gz") else open)(path, "rb").read()
    text, best = data.decode(), 1e9
    for _ in range(repeats):
        begin = time.perf_counter()
        tokens = encoding.encode_ordinary(text)
        best = min(best, time.perf_counter() - begin)
    print(path.split("/")[-1], len(tokens), f"{len(data) / 1e6 / best:.2f}")
