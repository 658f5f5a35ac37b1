//go:build !purego

#include "textflag.h"

// MASK moves the signs of the bytes of two vectors to DI+OFFSET.
#define MASK(A, B, OFFSET) \
	VPMOVMSKB A, AX; \
	VPMOVMSKB B, BX; \
	SHLQ $32, BX; \
	ORQ  BX, AX; \
	MOVQ AX, OFFSET(DI)

// BROADCAST fills a vector with a byte.
#define BROADCAST(C, X, Y) \
	MOVL $C, AX; \
	VMOVD AX, X; \
	VPBROADCASTB X, Y

// func classify(dst *masks, s *byte, blocks int)
TEXT ·classify(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ s+8(FP), SI
	MOVQ blocks+16(FP), CX
	BROADCAST(0x22, X2, Y2)
	BROADCAST(0x5c, X3, Y3)
	BROADCAST(0x1f, X4, Y4)

next:
	VMOVDQU  (SI), Y0
	VMOVDQU  32(SI), Y1
	VPCMPEQB Y0, Y2, Y5
	VPCMPEQB Y1, Y2, Y6
	MASK(Y5, Y6, 0)
	VPCMPEQB Y0, Y3, Y5
	VPCMPEQB Y1, Y3, Y6
	MASK(Y5, Y6, 8)
	VPMINUB  Y0, Y4, Y5 // is the byte itself if it is at most 0x1f
	VPMINUB  Y1, Y4, Y6
	VPCMPEQB Y0, Y5, Y5
	VPCMPEQB Y1, Y6, Y6
	MASK(Y5, Y6, 16)
	MASK(Y0, Y1, 24)
	ADDQ     $64, SI
	ADDQ     $32, DI
	DECQ     CX
	JNZ      next
	VZEROUPPER
	RET
