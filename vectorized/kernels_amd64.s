//go:build !purego

#include "textflag.h"

// Each function compares words*64 values with lit and stores a bit for each that is less, LSB first. A step compares one
// vector of 32 bytes and moves the signs of its lanes to their place in BX.

#define COLLECT(MOVE, I, LANES) \
	MOVE Y1, AX; \
	SHLQ $(I*LANES), AX; \
	ORQ  AX, BX

// A word of the answer takes 16 vectors of 8-byte values, or 8 of 4-byte values.
#define EIGHT(STEP) STEP(0); STEP(1); STEP(2); STEP(3); STEP(4); STEP(5); STEP(6); STEP(7)
#define SIXTEEN(STEP) EIGHT(STEP); STEP(8); STEP(9); STEP(10); STEP(11); STEP(12); STEP(13); STEP(14); STEP(15)

#define INT64(I) VPCMPGTQ (I*32)(SI), Y0, Y1; COLLECT(VMOVMSKPD, I, 4)
#define INT32(I) VPCMPGTD (I*32)(SI), Y0, Y1; COLLECT(VMOVMSKPS, I, 8)

// 30 is "greater, ordered, quiet": lit > value, false for NaN.
#define FLOAT64(I) VMOVUPD (I*32)(SI), Y1; VCMPPD $30, Y1, Y0, Y1; COLLECT(VMOVMSKPD, I, 4)
#define FLOAT32(I) VMOVUPS (I*32)(SI), Y1; VCMPPS $30, Y1, Y0, Y1; COLLECT(VMOVMSKPS, I, 8)

// func lessInt64AVX2(dst *uint64, values *int64, words int, lit int64)
TEXT ·lessInt64AVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         values+8(FP), SI
	MOVQ         words+16(FP), CX
	VPBROADCASTQ lit+24(FP), Y0

next:
	XORL BX, BX
	SIXTEEN(INT64)
	MOVQ BX, (DI)
	ADDQ $512, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func lessInt32AVX2(dst *uint64, values *int32, words int, lit int32)
TEXT ·lessInt32AVX2(SB), NOSPLIT, $0-28
	MOVQ         dst+0(FP), DI
	MOVQ         values+8(FP), SI
	MOVQ         words+16(FP), CX
	MOVL         lit+24(FP), AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0

next:
	XORL BX, BX
	EIGHT(INT32)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func lessFloat64AVX2(dst *uint64, values *float64, words int, lit float64)
TEXT ·lessFloat64AVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         values+8(FP), SI
	MOVQ         words+16(FP), CX
	VBROADCASTSD lit+24(FP), Y0

next:
	XORL BX, BX
	SIXTEEN(FLOAT64)
	MOVQ BX, (DI)
	ADDQ $512, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func lessFloat32AVX2(dst *uint64, values *float32, words int, lit float32)
TEXT ·lessFloat32AVX2(SB), NOSPLIT, $0-28
	MOVQ         dst+0(FP), DI
	MOVQ         values+8(FP), SI
	MOVQ         words+16(FP), CX
	VBROADCASTSS lit+24(FP), Y0

next:
	XORL BX, BX
	EIGHT(FLOAT32)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// Y1 becomes what Y1 has and Y3 has not.
#define BETWEEN64(I) VPCMPGTQ (I*32)(SI), Y0, Y1; VPCMPGTQ (I*32)(DX), Y2, Y3; VPANDN Y1, Y3, Y1; COLLECT(VMOVMSKPD, I, 4)
#define BETWEEN32(I) VPCMPGTD (I*32)(SI), Y0, Y1; VPCMPGTD (I*32)(DX), Y2, Y3; VPANDN Y1, Y3, Y1; COLLECT(VMOVMSKPS, I, 8)

#define BETWEENFLOAT64(I) \
	VMOVUPD (I*32)(SI), Y1; VCMPPD $30, Y1, Y0, Y1; \
	VMOVUPD (I*32)(DX), Y3; VCMPPD $30, Y3, Y2, Y3; \
	VPANDN  Y1, Y3, Y1; COLLECT(VMOVMSKPD, I, 4)
#define BETWEENFLOAT32(I) \
	VMOVUPS (I*32)(SI), Y1; VCMPPS $30, Y1, Y0, Y1; \
	VMOVUPS (I*32)(DX), Y3; VCMPPS $30, Y3, Y2, Y3; \
	VPANDN  Y1, Y3, Y1; COLLECT(VMOVMSKPS, I, 8)

// The functions below store a bit for each lower < below of which the upper is not < from. Both arrays are read side by
// side, as memory likes it better than one after the other.

// func betweenInt64AVX2(dst *uint64, lowers, uppers *int64, words int, from, below int64)
TEXT ·betweenInt64AVX2(SB), NOSPLIT, $0-48
	MOVQ         dst+0(FP), DI
	MOVQ         lowers+8(FP), SI
	MOVQ         uppers+16(FP), DX
	MOVQ         words+24(FP), CX
	VPBROADCASTQ from+32(FP), Y2
	VPBROADCASTQ below+40(FP), Y0

next:
	XORL BX, BX
	SIXTEEN(BETWEEN64)
	MOVQ BX, (DI)
	ADDQ $512, SI
	ADDQ $512, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func betweenInt32AVX2(dst *uint64, lowers, uppers *int32, words int, from, below int32)
TEXT ·betweenInt32AVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         lowers+8(FP), SI
	MOVQ         uppers+16(FP), DX
	MOVQ         words+24(FP), CX
	MOVL         from+32(FP), AX
	VMOVD        AX, X2
	VPBROADCASTD X2, Y2
	MOVL         below+36(FP), AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0

next:
	XORL BX, BX
	EIGHT(BETWEEN32)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $256, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func betweenFloat64AVX2(dst *uint64, lowers, uppers *float64, words int, from, below float64)
TEXT ·betweenFloat64AVX2(SB), NOSPLIT, $0-48
	MOVQ         dst+0(FP), DI
	MOVQ         lowers+8(FP), SI
	MOVQ         uppers+16(FP), DX
	MOVQ         words+24(FP), CX
	VBROADCASTSD from+32(FP), Y2
	VBROADCASTSD below+40(FP), Y0

next:
	XORL BX, BX
	SIXTEEN(BETWEENFLOAT64)
	MOVQ BX, (DI)
	ADDQ $512, SI
	ADDQ $512, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func betweenFloat32AVX2(dst *uint64, lowers, uppers *float32, words int, from, below float32)
TEXT ·betweenFloat32AVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         lowers+8(FP), SI
	MOVQ         uppers+16(FP), DX
	MOVQ         words+24(FP), CX
	VBROADCASTSS from+32(FP), Y2
	VBROADCASTSS below+36(FP), Y0

next:
	XORL BX, BX
	EIGHT(BETWEENFLOAT32)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $256, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
