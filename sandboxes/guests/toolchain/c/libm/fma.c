/* `fma`, for `math.fma` and the exact sums of `math`. The version of the C
 * library uses integer arithmetic and takes three times as long. */
#include <wasm_simd128.h>

double fma(double x, double y, double z)
{
    v128_t both =
        wasm_f64x2_relaxed_madd(wasm_f64x2_splat(x), wasm_f64x2_splat(y), wasm_f64x2_splat(z));
    return wasm_f64x2_extract_lane(both, 0);
}
