"""From ``dequantize -> operator -> quantize`` to integer operators; ``integerizer.py`` is the pass."""





