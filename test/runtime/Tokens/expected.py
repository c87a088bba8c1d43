#!/usr/bin/env python3
"""expected.py DATA: writes hostile.txt and Expected.inc next to itself: what tiktoken
and SentencePiece make of texts, with the vocabularies in DATA (bpe-gpt2 and
models/stories260K) and the texts in DATA/text. Needs tiktoken, regex, sentencepiece
and protobuf from PyPI; run it again only if the tests change."""
import gzip, os, random, struct, sys, unicodedata, zlib
import regex, sentencepiece, tiktoken
from sentencepiece import sentencepiece_model_pb2 as model
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

here, data = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
pattern = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
ranks = data_gym_to_mergeable_bpe_ranks(f"{data}/bpe-gpt2/vocab.bpe", f"{data}/bpe-gpt2/encoder.json")
gpt2 = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})


def hostile():
    """White space of all kinds, contractions, runs of each class, joined in every
    way, and characters from everywhere."""
    random.seed(1)
    assigned = [c for c in range(0x32000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    spaces = [c for c in assigned if regex.match(r"\s", chr(c))]
    parts = ["'s", "'S", "'re", "'ll", "'lll", "''t", "'", " '", "don't", "I've", "a", "Z", "été", "Ω", "7", "½", "Ⅷ", "٣",
             "!", "#$%", "<|endoftext|>", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\0", "\x7f", "  \n  ", "日本語", "한국어", "🙂",
             "👩‍👩‍👧", "e\u0301", "\u200b", "\ufeff", "\U0001d54f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
             "=" * 70, " " * 70, "0123456789" * 6]
    text = ""
    for _ in range(1500):
        kind = random.random()
        text += random.choice(parts) if kind < 0.7 else chr(random.choice(spaces if kind < 0.8 else assigned))
    return text + "end   "


def pieces():
    """The vocabulary of stories260K as a model of SentencePiece."""
    result = model.ModelProto()
    with open(f"{data}/models/stories260K/tok512.bin", "rb") as file:
        file.read(4)
        while head := file.read(8):
            score, length = struct.unpack("<fi", head)
            text, number = file.read(length).decode(), len(result.pieces)
            kind = model.ModelProto.SentencePiece
            special = {0: kind.UNKNOWN, 1: kind.CONTROL, 2: kind.CONTROL}
            isByte = len(text) == 6 and text.startswith("<0x")
            result.pieces.add(piece=text.strip() if number in special else text.replace(" ", "\u2581"), score=score,
                              type=special.get(number, kind.BYTE if isByte else kind.NORMAL))
    result.trainer_spec.model_type = model.TrainerSpec.BPE
    result.trainer_spec.byte_fallback = True
    result.trainer_spec.vocab_size = len(result.pieces)
    result.normalizer_spec.add_dummy_prefix = True
    result.normalizer_spec.remove_extra_whitespaces = False
    result.normalizer_spec.escape_whitespaces = True
    return sentencepiece.SentencePieceProcessor(model_proto=result.SerializeToString())


def line(kind, name, numbers):
    checksum = zlib.crc32(struct.pack(f"<{len(numbers)}i", *numbers))
    return f'{kind}("{name}", {len(numbers)}, 0x{checksum:08x})\n'


text = hostile()
with open(f"{here}/hostile.txt", "w", newline="") as file:
    file.write(text)
texts = {"hostile.txt": text}
for name in ["tinyshakespeare.txt", "wikitext-2/train.txt.gz", "wikitext-2/valid.txt.gz", "wikitext-2/test.txt.gz"]:
    path = f"{data}/text/{name}"
    texts[name] = (gzip.open if name.endswith(".gz") else open)(path, "rb").read().decode()
stories = pieces()
with open(f"{here}/Expected.inc", "w") as out:
    out.write("// KIND(text, count, crc32 of the numbers as i32): lengths in bytes of the words that\n"
              "// GPT-2's pattern finds, tokens of GPT-2 and of stories260K. Written by expected.py with\n"
              f"// tiktoken {tiktoken.__version__}, regex {regex.__version__}, sentencepiece {sentencepiece.__version__}.\n")
    for name, text in texts.items():
        out.write(line("WORDS", name, [len(word.encode()) for word in regex.findall(pattern, text)]))
        out.write(line("GPT2", name, gpt2.encode_ordinary(text)))
        if name in ("hostile.txt", "tinyshakespeare.txt", "wikitext-2/test.txt.gz"):
            out.write(line("STORIES", name, stories.encode(text)))
    for text in ["Hello world", "Hello, world! It's 2019.", " leading", "tokens   and\n\nlines", "naïve café", "<|endoftext|>", "🙂"]:
        out.write(f'EXAMPLE({repr(text).replace(chr(39), chr(34)) if chr(39) not in text else chr(34) + text + chr(34)}'
                  f', ({{{", ".join(map(str, gpt2.encode_ordinary(text)))}}}))\n')
