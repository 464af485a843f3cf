"""The nests of the anchors by operator name, ``nest(ctx, node) -> Block``: what is computed, one element at a time.

They read and write through the context, take no decision of scheduling, and are correct as they stand. Outer loops
over independent elements are ``parallel``; reductions are loops around ``acc = op(acc, term)`` with ``acc`` in a
register; outputs are walked in the order in which they lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.graph import Node
from ..ir.loops import Block
from .block_fourier_nest import block_fft
from .col2im_nest import col2im
from .contraction_nest import conv, conv_transpose, matmul
from .determinant_nest import det
from .fourier_nest import fft
from .gather_nest import gather
from .int_normalize_nest import int_normalize
from .int_recurrent_nest import int_gru, int_lstm, int_rnn
from .integer_nests import int_softmax
from .interpolate_nest import interpolate
from .murmur_nest import murmur3
from .ngrams_nest import count_ngrams
from .normalization_nest import log_softmax, normalize, rms_normalize, softmax
from .opdef import NestContext
from .pool_nest import max_pool_index, pool
from .recurrent_nest import gru, lstm, rnn
from .reduction_nest import arg_reduce, cumprod, cumsum, reduce
from .sample_nest import roi_align, sample
from .scatter_nest import scatter
from .selection_nest import nonzero, pack, unique, unpack
from .sort_nest import top_k
from .stored_weights_nest import dequantize_blocks, weight_matmul
from .strings_nest import string_concat, string_find, string_map, string_match, string_split
from .suppression_nest import suppress
from .svm_nest import couple_probabilities, square_distance
from .trees_nest import trees

Nest = Callable[[NestContext, Node], Block]

NESTS: dict[str, Nest] = {
    "conv": conv,
    "conv_transpose": conv_transpose,
    "matmul": matmul,
    "weight_matmul": weight_matmul,
    "dequantize_blocks": dequantize_blocks,
    "pool": pool,
    "max_pool_index": max_pool_index,
    "col2im": col2im,
    "det": det,
    "fft": fft,
    "block_fft": block_fft,
    "count_ngrams": count_ngrams,
    "reduce": reduce,
    "arg_reduce": arg_reduce,
    "softmax": softmax,
    "int_softmax": int_softmax,
    "int_normalize": int_normalize,
    "log_softmax": log_softmax,
    "normalize": normalize,
    "rms_normalize": rms_normalize,
    "lstm": lstm,
    "gru": gru,
    "rnn": rnn,
    "int_lstm": int_lstm,
    "int_gru": int_gru,
    "int_rnn": int_rnn,
    "cumsum": cumsum,
    "cumprod": cumprod,
    "gather": gather,
    "sample": sample,
    "interpolate": interpolate,
    "roi_align": roi_align,
    "scatter": scatter,
    "top_k": top_k,
    "nonzero": nonzero,
    "unique": unique,
    "suppress": suppress,
    "pack": pack,
    "unpack": unpack,
    "square_distance": square_distance,
    "couple_probabilities": couple_probabilities,
    "trees": trees,
    "string_concat": string_concat,
    "string_find": string_find,
    "string_match": string_match,
    "string_map": string_map,
    "string_split": string_split,
    "murmur3": murmur3,
}
