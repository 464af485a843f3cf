"""Train the example's digit classifier and write every generated file beside this script.

Development only: ccml itself needs neither PyTorch nor scikit-learn. The run is seeded and single-threaded, so with
the versions named in README.md it writes the same bytes each time.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

SEED = 0
EXPORT_OPSET = 18  # the exporter's own
OPSET = 17  # the file's
TEST_IMAGES = 500
SAMPLES = 200  # images in each .npz
EPOCHS = 80
BATCH = 48
PEAK_RATE = 4e-3
WEIGHT_DECAY = 1e-2


@dataclass(frozen=True)
class Split:
    """Images [n, 1, 8, 8] float32 in 0..1 with their labels [n] int64."""

    image: np.ndarray
    label: np.ndarray


def load_splits() -> tuple[Split, Split]:
    """The training and the test images: a stratified split, shuffled with a fixed seed."""
    digits = load_digits()
    image = (digits.images / 16).astype(np.float32)[:, None]
    label = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        image, label, test_size=TEST_IMAGES, stratify=label, random_state=SEED
    )
    return Split(train_x, train_y), Split(test_x, test_y)


def conv_bn(ic: int, oc: int, kernel: int, *, stride: int = 1, group: int = 1) -> nn.Sequential:
    """Convolution with "same" padding, and batch normalisation in place of a bias."""
    conv = nn.Conv2d(ic, oc, kernel, stride, padding=kernel // 2, groups=group, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(oc))


class SeparableResidual(nn.Module):
    """relu(x + pointwise(relu(depthwise(x)))): the shape stays [n, channels, h, w]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = conv_bn(channels, channels, 3, group=channels)
        self.pointwise = conv_bn(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(x + self.pointwise(functional.relu(self.depthwise(x))))


class DigitsNet(nn.Module):
    """[n, 1, 8, 8] -> logits [n, 10]. The comments give the shape after each step, without n."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_bn(1, 24, 3)
        self.widen = conv_bn(24, 48, 3)
        self.block = SeparableResidual(48)
        self.reduce = conv_bn(48, 48, 3, stride=2)
        self.pool = nn.AvgPool2d(2)
        self.classify = nn.Linear(48 * 2 * 2, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.stem(image))  # 24, 8, 8
        x = functional.relu(self.widen(x))  # 48, 8, 8
        x = self.block(x)  # 48, 8, 8
        x = functional.relu(self.reduce(x))  # 48, 4, 4
        x = self.pool(x)  # 48, 2, 2
        return self.classify(x.flatten(1))


def shift(image: torch.Tensor) -> torch.Tensor:
    """Move each image of a batch by -1, 0 or 1 pixel along both axes, filling with zero."""
    padded = functional.pad(image, (1, 1, 1, 1))
    top, left = torch.randint(0, 3, (2, len(image)))
    rows = (top[:, None] + torch.arange(8))[:, :, None]
    cols = (left[:, None] + torch.arange(8))[:, None, :]
    sample = torch.arange(len(image))[:, None, None]
    return padded[sample, 0, rows, cols][:, None]


def train(data: Split) -> DigitsNet:
    """A trained net in evaluation mode: AdamW, one-cycle learning rate, shifted images, smoothed labels."""
    torch.manual_seed(SEED)
    net = DigitsNet()
    image, label = torch.from_numpy(data.image), torch.from_numpy(data.label)
    steps = len(image) // BATCH
    optimizer = torch.optim.AdamW(net.parameters(), lr=PEAK_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=EPOCHS * steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(image))[: steps * BATCH].split(BATCH):
            loss = functional.cross_entropy(net(shift(image[batch])), label[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def strip(model: onnx.ModelProto) -> None:
    """Drop documentation and metadata: the exporter records stack traces and file paths there."""
    graph = model.graph
    values = [*graph.input, *graph.output, *graph.value_info, *graph.initializer]
    for holder in (model, graph, *graph.node, *values):
        holder.ClearField("doc_string")
        holder.ClearField("metadata_props")


def name_layers(model: onnx.ModelProto) -> None:
    """Name convolutions and the dense layer after their modules: the exporter only numbers them."""
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            node.name = node.input[1].removesuffix(".weight").removesuffix(".0")


def export(net: DigitsNet) -> onnx.ModelProto:
    """The net as a checked, self-contained ONNX model with batch 1."""
    program = torch.onnx.export(
        net,
        (torch.zeros(1, 1, 8, 8),),
        input_names=["image"],
        output_names=["logits"],
        opset_version=EXPORT_OPSET,
        verbose=False,
    )
    assert program is not None  # only the exporter for TorchScript returns nothing
    model = onnx.version_converter.convert_version(program.model_proto, OPSET)
    strip(model)
    name_layers(model)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model: onnx.ModelProto, image: np.ndarray) -> np.ndarray:
    """Logits [n, 10] of images [n, 1, 8, 8] by ONNX Runtime, one image at a time."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["logits"], {"image": one[None]})[0] for one in image])


def accuracy(logits: np.ndarray, label: np.ndarray) -> float:
    """The share of images whose largest logit is at the label."""
    return float(np.mean(logits.argmax(1) == label))


def images_header(data: Split) -> str:
    """digits_images.h: for each digit the first image of ``data`` that shows it, as C99 arrays."""
    chosen = [int(np.flatnonzero(data.label == digit)[0]) for digit in range(10)]
    lines = [
        "/* Ten test images for main.c, written by train.py. Pixels are 0 (paper) to 1 (ink), row by row.",
        "   Data: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning",
        "   Repository, https://doi.org/10.24432/C50P49, CC BY 4.0; scaled from 0..16 to 0..1. */",
        "#ifndef DIGITS_IMAGES_H",
        "#define DIGITS_IMAGES_H",
        "",
        f"#define DIGITS_IMAGE_COUNT {len(chosen)}",
        "",
        "static const float digits_images[DIGITS_IMAGE_COUNT][8 * 8] = {",
    ]
    for index in chosen:
        # Four decimals are exact: a pixel is a multiple of 1/16.
        rows = [", ".join(f"{pixel:.4f}f" for pixel in row) for row in data.image[index, 0]]
        lines += ["    {", *(f"        {row}," for row in rows), "    },"]
    labels = ", ".join(str(data.label[index]) for index in chosen)
    lines += ["};", "", f"static const int digits_labels[DIGITS_IMAGE_COUNT] = {{{labels}}};", "", "#endif", ""]
    return "\n".join(lines)


def write_files(folder: Path, model: onnx.ModelProto, training: Split, test: Split, logits: np.ndarray) -> None:
    """Write the model, the two data files and the header into ``folder``; ``logits`` are those of ``test``."""
    onnx.save(model, folder / "digits.onnx")
    np.savez_compressed(
        folder / "digits_test.npz", image=test.image[:SAMPLES], label=test.label[:SAMPLES], logits=logits[:SAMPLES]
    )
    np.savez_compressed(folder / "digits_calibration.npz", image=training.image[:SAMPLES])
    (folder / "digits_images.h").write_text(images_header(test), encoding="ascii", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder to write to")
    folder = parser.parse_args().output
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    training, test = load_splits()
    net = train(training)
    model = export(net)
    logits = run(model, test.image)
    write_files(folder, model, training, test, logits)
    print(f"parameters: {sum(p.numel() for p in net.parameters())}")
    print(f"training accuracy: {accuracy(run(model, training.image), training.label):.4f}")
    print(f"test accuracy: {accuracy(logits, test.label):.4f}")
    print(f"test accuracy, first {SAMPLES}: {accuracy(logits[:SAMPLES], test.label[:SAMPLES]):.4f}")


if __name__ == "__main__":
    main()
