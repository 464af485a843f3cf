"""Classifies the test images by the compiled model: python recognize.py digits_test.npz; see README.md."""

import sys

import digits
import numpy as np

SHOWN = 10

data = np.load(sys.argv[1])
model = digits.Model()
found = [int(model.run(image[None])["logits"].argmax()) for image in data["image"]]
for number, (digit, label) in enumerate(zip(found[:SHOWN], data["label"])):
    print(f"image {number}: recognised {digit}, label {label}")
print(f"{sum(found == data['label'])} of {len(found)} correct")
