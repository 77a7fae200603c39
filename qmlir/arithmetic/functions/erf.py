"""The error function on arrays, accurate to the last bits of f64.

The rational approximations are W. J. Cody's: "Rational Chebyshev Approximations for the Error Function", Mathematics of
Computation 23 (1969), 631-637, with the coefficients of his program CALERF (netlib.org/specfun/erf).
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

F64 = npt.NDArray[np.float64]

# Numerators and denominators from the highest power down.

# erf(x) / x in x^2, |x| <= 0.46875
_NEAR = (
    (
        1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip

# e^(x^2) * erfc(x) in x, 0.46875 <= x <= 4
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip

# (1 / sqrt(pi) - x * e^(x^2) * erfc(x)) * x^2 in 1 / x^2, x >= 4
_FAR = (
    (
        1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
        1.60837851487422766e-2, 6.58749161529837803e-4,
    ),
    (
        1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)  # fmt: skip

_NEAR_END, _MIDDLE_END = 0.46875, 4.0

_ONE_FROM = 6.0
"""The smallest x at which the implementation returns 1: erf(x) is 1 in f64 from here on."""


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: F64) -> F64:
    """Returns the quotient of two polynomials of equal degree, by Horner's rule."""
    top, bottom = (np.full_like(x, coefficients[0]) for coefficients in polynomials)
    for above, below in zip(*(coefficients[1:] for coefficients in polynomials), strict=True):
        top *= x
        top += above
        bottom *= x
        bottom += below
    top /= bottom
    return top


def _near(x: F64) -> F64:
    return x * _ratio(_NEAR, x * x)


def _middle(x: F64) -> F64:
    return 1 - np.exp(-x * x) * _ratio(_MIDDLE, x)


def _far(x: F64) -> F64:
    inverse = 1 / (x * x)
    return 1 - np.exp(-x * x) * (1 / np.sqrt(np.pi) - inverse * _ratio(_FAR, inverse)) / x


def erf(x: Array) -> Array:
    """Computes the error function in f64, rounded once to the type of `x`; NaN is preserved."""
    exact = x.astype(np.float64).reshape(-1)
    size = np.minimum(np.abs(exact), _ONE_FROM)
    result = size.copy()  # NaN is in none of the ranges
    near, far = size <= _NEAR_END, size > _MIDDLE_END
    for chosen, function in ((near, _near), (far, _far), (~(near | far | np.isnan(size)), _middle)):
        if chosen.any():
            result[chosen] = function(size[chosen])
    return np.copysign(result, exact).astype(x.dtype).reshape(x.shape)
