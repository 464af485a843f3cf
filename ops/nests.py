"""placeholder"""
NESTS = {}
