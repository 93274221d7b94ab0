/* gpu/fft/cuda/registers_long.cu - lengths of more than 256 points; see registers.cuh */
#include "gpu/fft/cuda/registers.cuh"

const struct bs_line_reg *bs_line_regs_long(uint32_t *count)
{
	static const struct bs_line_reg all[] = {
		reg_make<15, 18>(), reg_make<16, 18>(), reg_make<15, 20>(), reg_make<16, 20>(),
		reg_make<18, 20>(), reg_make<15, 25>(), reg_make<16, 24>(), reg_make<20, 20>(),
		reg_make<18, 24>(), reg_make<18, 25>(), reg_make<20, 24>(), reg_make<20, 25>(),
		reg_make<16, 32>(), reg_make<20, 27>(), reg_make<24, 24>(), reg_make<24, 25>(),
		reg_make<20, 32>(), reg_make<24, 30>(),
	};

	*count = sizeof(all) / sizeof(all[0]);
	return all;
}
