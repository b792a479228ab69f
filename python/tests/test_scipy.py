"""Sparse arrays and matrices of scipy come back as they went, on the same memory."""

import arrow_frames as af
import numpy as np
import pytest
from arrow_frames import _native
from conftest import in_frames
from scipy import sparse as scipy

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
DTYPES = ("?", "i1", "<i4", "<i8", "<u2", "<f4", "<f8", "<c16")


def dense(dtype) -> np.ndarray:
    array = np.zeros((6, 8), dtype)
    array[0, 1] = array[2, 3] = array[5, 7] = 1
    array[2, 6] = 3
    return array


def samples(dtype="<f8"):
    """Every format, as an array and as a matrix."""
    for form in FORMATS:
        for sort in ("array", "matrix"):
            if hasattr(scipy, f"{form}_{sort}"):
                yield getattr(scipy, f"{form}_{sort}")(dense(dtype))


def parts(sparse) -> list[np.ndarray]:
    """The arrays that hold it."""
    names = ("data", "indices", "indptr", "row", "col", "offsets")
    return [part for name in names if isinstance(part := getattr(sparse, name, None), np.ndarray)]


def assert_same(expected, found) -> None:
    assert type(found) is type(expected) and found.dtype == expected.dtype and found.shape == expected.shape
    assert found.nnz == expected.nnz
    assert np.array_equal(found.toarray(), expected.toarray())
    for own, other in zip(parts(expected), parts(found), strict=True):
        assert other.dtype == own.dtype and other.tolist() == own.tolist()
    for flag in ("has_sorted_indices", "has_canonical_format"):
        if hasattr(expected, flag):
            assert getattr(found, flag) == getattr(expected, flag), flag


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_format_of_every_dtype_comes_back(dtype, exchanged):
    for sparse in samples(dtype):
        assert_same(sparse, exchanged(sparse))


def test_the_parts_are_the_same_memory():
    for sparse in samples():
        if sparse.format in ("dok", "lil"):
            continue
        found = in_frames(sparse)
        for own, other in zip(parts(sparse), parts(found), strict=True):
            assert np.shares_memory(own, other), sparse.format
        assert af.copies(sparse) == [], sparse.format


@pytest.mark.parametrize("width", ["<i4", "<i8"])
def test_the_width_of_indices_is_kept(width, exchanged):
    sparse = scipy.csr_matrix(dense("<f8"))
    sparse.indices, sparse.indptr = sparse.indices.astype(width), sparse.indptr.astype(width)
    found = exchanged(sparse)
    assert found.indices.dtype == found.indptr.dtype == width
    coo = scipy.coo_matrix(dense("<f8"))
    if hasattr(coo, "coords"):
        coo.coords = tuple(place.astype(width) for place in coo.coords)
    else:
        coo.row, coo.col = coo.row.astype(width), coo.col.astype(width)
    assert exchanged(coo).row.dtype == exchanged(coo).col.dtype == width


def test_neither_order_nor_duplicates_are_mended(exchanged):
    for known in (scipy.csr_matrix, scipy.csc_matrix):
        sparse = known(([1.0, 2.0, 4.0], [2, 0, 0], [0, 3, 3, 3]), shape=(3, 3))
        assert not sparse.has_sorted_indices and not sparse.has_canonical_format
        assert_same(sparse, exchanged(sparse))
    twice = scipy.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert_same(twice, exchanged(twice))


def test_zeros_that_are_stored_stay_stored(exchanged):
    for sparse in samples():
        if sparse.format in ("csr", "csc", "coo"):
            sparse.data[0] = 0
            assert exchanged(sparse).nnz == sparse.nnz
    keys = scipy.dok_matrix((2, 2))
    dict.__setitem__(getattr(keys, "_dict", keys), (0, 1), 0.0)
    assert exchanged(keys).nnz == 1


def test_what_is_empty_comes_back(exchanged):
    for form in FORMATS:
        for shape in ((0, 5), (5, 0), (3, 3)) if form not in ("bsr", "dia") else ((3, 3),):
            sparse = getattr(scipy, f"{form}_matrix")(np.zeros(shape))
            assert_same(sparse, exchanged(sparse))


def test_one_axis_comes_back(exchanged):
    for known in (
        getattr(scipy, "coo_array", None),
        getattr(scipy, "dok_array", None),
        getattr(scipy, "csr_array", None),
    ):
        try:
            sparse = known(np.array([0.0, 2.0, 0.0, 3.0]))
        except (TypeError, ValueError):
            continue
        if sparse.ndim == 1:
            assert_same(sparse, exchanged(sparse))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.indices.__setitem__(0, 99),
        lambda s: s.indices.__setitem__(0, -1),
        lambda s: s.indptr.__setitem__(1, 99),
        lambda s: s.indptr.__setitem__(0, 1),
        lambda s: s.indptr.__setitem__(-1, 2**31 - 1),
    ],
)
@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_places_outside_are_refused(form, spoil):
    """scipy's routines would look at memory that is not theirs."""
    sparse = getattr(scipy, f"{form}_matrix")(dense("<f8"))
    header, frames = af.to_buffers(sparse)
    # In the memory that the frames are.
    spoil(sparse)
    with pytest.raises(af.DecodeError):
        af.from_buffers(header, frames)


def test_places_outside_of_the_coordinates_are_refused():
    sparse = scipy.coo_matrix(dense("<f8"))
    header, frames = af.to_buffers(sparse)
    sparse.row[0] = 77
    with pytest.raises(af.DecodeError):
        af.from_buffers(header, frames)


def test_rows_and_columns_of_numbers_are_sparse_tensors_of_arrow():
    for sparse in samples():
        header, _ = af.to_buffers(sparse)
        expected = "sparse" if sparse.format in ("csr", "csc") else "dataframe"
        assert _native.kind(header) == expected, sparse.format


def test_sparse_tensors_of_others_come_back_without_a_note():
    matrix = scipy.csr_matrix(dense("<f8"))
    csr = _native.encode_sparse(
        "csr", (6, 8), ("g", matrix.data), [("i", matrix.indptr)], [("i", matrix.indices)]
    )
    places = np.argwhere(dense("<f8")).astype("<i8")
    values = dense("<f8")[tuple(places.T)]
    coo = _native.encode_sparse("coo", (6, 8), ("g", values), [], [("l", places.reshape(-1))])
    for header, frames, _ in (csr, coo):
        assert np.array_equal(af.from_buffers(header, frames).toarray(), dense("<f8"))
        stream = b"".join(_native.segments(header, frames))
        assert np.array_equal(af.loads(stream).toarray(), dense("<f8"))
