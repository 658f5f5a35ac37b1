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
	BETWEEN64(0); BETWEEN64(1); BETWEEN64(2); BETWEEN64(3)
	BETWEEN64(4); BETWEEN64(5); BETWEEN64(6); BETWEEN64(7)
	BETWEEN64(8); BETWEEN64(9); BETWEEN64(10); BETWEEN64(11)
	BETWEEN64(12); BETWEEN64(13); BETWEEN64(14); BETWEEN64(15)
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
	BETWEEN32(0); BETWEEN32(1); BETWEEN32(2); BETWEEN32(3)
	BETWEEN32(4); BETWEEN32(5); BETWEEN32(6); BETWEEN32(7)
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
	BETWEENFLOAT64(0); BETWEENFLOAT64(1); BETWEENFLOAT64(2); BETWEENFLOAT64(3)
	BETWEENFLOAT64(4); BETWEENFLOAT64(5); BETWEENFLOAT64(6); BETWEENFLOAT64(7)
	BETWEENFLOAT64(8); BETWEENFLOAT64(9); BETWEENFLOAT64(10); BETWEENFLOAT64(11)
	BETWEENFLOAT64(12); BETWEENFLOAT64(13); BETWEENFLOAT64(14); BETWEENFLOAT64(15)
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
	BETWEENFLOAT32(0); BETWEENFLOAT32(1); BETWEENFLOAT32(2); BETWEENFLOAT32(3)
	BETWEENFLOAT32(4); BETWEENFLOAT32(5); BETWEENFLOAT32(6); BETWEENFLOAT32(7)
	MOVQ BX, (DI)
	ADDQ $256, SI
	ADDQ $256, DX
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
