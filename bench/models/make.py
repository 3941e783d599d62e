# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the model set in a folder, from packages of PyPI (./dev setup models).

make.py FOLDER [NAME...]    all of them, or these
make.py --list              which there are

FOLDER/NAME/ gets model.mlir, for onnxruntime model.onnx, inputs x0.npy, ... and
results y0.npy, ... of the package it comes from (PyTorch or onnxruntime). Weights
are random with a fixed seed, or the package's own; where they are large they are
left out of model.mlir, and results with them. What is there is not made again.
"""

import argparse
import dataclasses
import importlib.metadata
import pathlib
import shutil
import sys
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

SEED = 7


@dataclasses.dataclass
class Model:
    """`make` gives the module and its inputs (PyTorch), or the path of an ONNX
    file, sizes for its open dimensions and its inputs."""

    about: str
    make: object
    has_weights: bool = True  # In model.mlir.


# --- PyTorch, random weights ---------------------------------------------------

def resnet18():
    import torch
    import torchvision
    return torchvision.models.resnet18(), (torch.randn(1, 3, 224, 224),)


def mobilenet_v2():
    import torch
    import torchvision
    return torchvision.models.mobilenet_v2(), (torch.randn(1, 3, 224, 224),)


def vit_block():
    """One encoder block of ViT-B/16: 197 tokens of 768."""
    import torch
    from torchvision.models.vision_transformer import EncoderBlock
    block = EncoderBlock(num_heads=12, hidden_dim=768, mlp_dim=3072, dropout=0.0, attention_dropout=0.0)
    return block, (torch.randn(1, 197, 768),)


def encoder(layers, hidden, heads, inner, tokens):
    import torch
    import transformers
    config = transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                                     intermediate_size=inner, attn_implementation="sdpa")
    model = transformers.BertModel(config, add_pooling_layer=False)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(input_ids=ids).last_hidden_state

    return Encoder(), (torch.randint(0, config.vocab_size, (1, tokens)),)


def bert():
    return encoder(12, 768, 12, 3072, 128)


def minilm():
    return encoder(6, 384, 12, 1536, 128)


def gpt2(tokens, past):
    """One block of GPT-2 (768 wide, 12 heads), with the keys and values of the
    `past` tokens before."""
    import torch
    functional = torch.nn.functional

    class Block(torch.nn.Module):
        def __init__(self, width=768, heads=12):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def split(self, x):
            return x.view(1, -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

        def forward(self, x, *cache):
            q, k, v = (self.split(part) for part in self.qkv(self.norm1(x)).chunk(3, -1))
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=not cache)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            x = x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))
            return x, k, v

    cache = (torch.randn(1, 12, past, 64), torch.randn(1, 12, past, 64)) if past else ()
    return Block(), (torch.randn(1, tokens, 768), *cache)


# --- ONNX files of packages, with their weights --------------------------------

def packaged(package, pattern):
    """A file of an installed package. The package is not imported: it would ask
    for much more than its file."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"error: the package {package} is missing; ./dev setup models") from None
    found = [file for file in files if file.match(pattern)]
    if not found:
        raise SystemExit(f"error: {package} {importlib.metadata.version(package)} has no file {pattern}")
    return str(found[0].locate())


def random(*shape):
    return np.random.default_rng(SEED).standard_normal(shape).astype(np.float32)


def ppocr(part, height, width):
    path = packaged("rapidocr-onnxruntime", f"*_{part}_infer.onnx")
    return path, (1, 3, height, width), [random(1, 3, height, width)]


def silero():
    rate = np.array(16000, np.int64)
    return packaged("silero-vad", "silero_vad_op18_ifless.onnx"), None, [random(1, 576), rate, random(2, 1, 128)]


def magika():
    tokens = np.random.default_rng(SEED).integers(0, 257, (1, 2048)).astype(np.int32)
    return packaged("magika", "*/standard_v3_*/model.onnx"), (1, 2048), [tokens]


MODELS = {
    "resnet18": Model("ResNet-18, 224x224", resnet18),
    "mobilenet_v2": Model("MobileNetV2, 224x224", mobilenet_v2),
    "bert": Model("BERT-base, 128 tokens", bert, has_weights=False),
    "minilm": Model("MiniLM-L6 (BERT, 6 layers of 384), 128 tokens", minilm, has_weights=False),
    "gpt2_prefill": Model("one block of GPT-2, 128 tokens", lambda: gpt2(128, 0)),
    "gpt2_decode": Model("one block of GPT-2, a token after 127", lambda: gpt2(1, 127)),
    "vit_block": Model("one block of ViT-B/16, 197 tokens", vit_block),
    "ppocr_cls": Model("PP-OCR text direction, its weights", lambda: ppocr("cls", 48, 192)),
    "ppocr_det": Model("PP-OCR text detection 320x320, its weights", lambda: ppocr("det", 320, 320)),
    "ppocr_rec": Model("PP-OCR text recognition 48x320, its weights", lambda: ppocr("rec", 48, 320)),
    "silero_vad": Model("silero voice activity at 16 kHz, its weights", silero),
    "magika": Model("magika file types, its weights", magika),
}


def save(folder, name, arrays):
    for i, array in enumerate(arrays):
        np.save(folder / f"{name}{i}.npy", array)


def write_torch(model, folder):
    import torch
    from attune import frontends
    torch.manual_seed(SEED)
    module, inputs = model.make()
    module = module.eval()
    with torch.no_grad():
        results = module(*inputs)
    results = results if isinstance(results, (tuple, list)) else (results,)
    save(folder, "x", [x.numpy() for x in inputs])
    if model.has_weights:
        save(folder, "y", [y.numpy() for y in results])
    # Before torch-mlir: it takes tensors apart that both read.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, folder / "model.onnx", dynamo=True, external_data=False, verbose=False,
                          input_names=[f"x{i}" for i in range(len(inputs))])
    text = frontends.from_torch(module, *inputs, elide_weights=not model.has_weights)
    (folder / "model.mlir").write_text(text)


def write_onnx(path, shape, inputs, folder):
    import onnx
    import onnxruntime
    from attune import frontends
    shutil.copy(path, folder / "original.onnx")
    model = onnx.load(path)
    constants = {initializer.name for initializer in model.graph.initializer}
    graph_inputs = [value for value in model.graph.input if value.name not in constants]
    sizes = {value.name: tuple(x.shape) for value, x in zip(graph_inputs, inputs)}
    for value, x in zip(graph_inputs, inputs):
        for dimension, size in zip(value.type.tensor_type.shape.dim, x.shape):
            dimension.dim_value = size
    onnx.save(model, folder / "model.onnx")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    save(folder, "x", inputs)
    save(folder, "y", session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)}))
    (folder / "model.mlir").write_text(frontends.from_onnx(path, {k: v for k, v in sizes.items() if v}))
    (folder / "original.onnx").unlink()


def make(name, target):
    model = MODELS[name]
    if (target / "model.mlir").exists():
        return
    half = target.with_name(target.name + ".tmp")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    print(f"making {name}: {model.about}", file=sys.stderr, flush=True)
    made = None
    if model.make.__name__ in ("silero", "magika") or name.startswith("ppocr"):
        made = model.make()
        write_onnx(*made, half)
    else:
        write_torch(model, half)
    shutil.rmtree(target, ignore_errors=True)
    half.rename(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, model in MODELS.items():
            print(f"{name:14} {model.about}{'' if model.has_weights else ' (weights left out)'}")
        return 0
    if not options.folder:
        parser.error("give a folder")
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"there is no model {unknown[0]}: {', '.join(MODELS)}")
    for name in options.names or MODELS:
        make(name, options.folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
