def slice_view(x, axis, begin, end):
    """x[..., begin:end, ...] as what it is: a new offset and a new size."""
    shape = list(x.shape)
    shape[axis] = end - begin
    offset = x.storage_offset() + begin * x.stride(axis)
    return x.as_strided(shape, x.stride(), offset)
