//go:build !purego

#include "textflag.h"

// Each function compares words*64 values with lit and stores a bit for each that is less, LSB first. A step compares one
// vector of 32 bytes and moves the signs of its lanes to their place in BX.

#define COLLECT(MOVE, I, LANES) \
	MOVE Y1, AX; \
	SHLQ $(I*LANES), AX; \
	ORQ  AX, BX

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
	INT64(0); INT64(1); INT64(2); INT64(3)
	INT64(4); INT64(5); INT64(6); INT64(7)
	INT64(8); INT64(9); INT64(10); INT64(11)
	INT64(12); INT64(13); INT64(14); INT64(15)
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
	INT32(0); INT32(1); INT32(2); INT32(3)
	INT32(4); INT32(5); INT32(6); INT32(7)
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
	FLOAT64(0); FLOAT64(1); FLOAT64(2); FLOAT64(3)
	FLOAT64(4); FLOAT64(5); FLOAT64(6); FLOAT64(7)
	FLOAT64(8); FLOAT64(9); FLOAT64(10); FLOAT64(11)
	FLOAT64(12); FLOAT64(13); FLOAT64(14); FLOAT64(15)
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
	FLOAT32(0); FLOAT32(1); FLOAT32(2); FLOAT32(3)
	FLOAT32(4); FLOAT32(5); FLOAT32(6); FLOAT32(7)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

#define BETWEEN(I) \
	VPCMPGTQ  (I*32)(SI), Y0, Y1; \
	VPCMPGTQ  (I*32)(DX), Y2, Y3; \
	VPANDN    Y1, Y3, Y1; \
	COLLECT(VMOVMSKPD, I, 4)

// func betweenInt64AVX2(dst *uint64, lowers, uppers *int64, words int, from, below int64)
//
// It stores a bit for each lower < below of which the upper is not < from. Both arrays are read side by side, as memory
// likes it better than one after the other.
TEXT ·betweenInt64AVX2(SB), NOSPLIT, $0-48
	MOVQ         dst+0(FP), DI
	MOVQ         lowers+8(FP), SI
	MOVQ         uppers+16(FP), DX
	MOVQ         words+24(FP), CX
	VPBROADCASTQ from+32(FP), Y2
	VPBROADCASTQ below+40(FP), Y0

next:
	XORL BX, BX
	BETWEEN(0); BETWEEN(1); BETWEEN(2); BETWEEN(3)
	BETWEEN(4); BETWEEN(5); BETWEEN(6); BETWEEN(7)
	BETWEEN(8); BETWEEN(9); BETWEEN(10); BETWEEN(11)
	BETWEEN(12); BETWEEN(13); BETWEEN(14); BETWEEN(15)
	MOVQ BX, (DI)
	ADDQ $512, SI
	ADDQ $512, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
