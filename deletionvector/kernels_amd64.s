//go:build !purego

#include "textflag.h"

// func commonBlocks(a *byte, na int, b *byte, nb int) (n, i, j int)
//
// Each round compares 8 values with 8 others, all with all, and passes over the 8 with the smaller last one.
TEXT ·commonBlocks(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), SI
	MOVQ na+8(FP), R8
	MOVQ b+16(FP), DI
	MOVQ nb+24(FP), R9
	XORQ AX, AX      // n
	XORQ BX, BX      // i
	XORQ CX, CX      // j
	SUBQ $16, R8     // where the last block may start
	SUBQ $16, R9

round:
	CMPQ BX, R8
	JGT  done
	CMPQ CX, R9
	JGT  done
	MOVOU   (SI)(BX*1), X1
	MOVOU   (DI)(CX*1), X2
	PCMPISTRM $1, X2, X1 // words, equal any, a bit each into X0
	MOVWLZX 14(SI)(BX*1), R11
	MOVWLZX 14(DI)(CX*1), R12
	XORL    R13, R13
	XORL    R14, R14
	CMPL    R11, R12
	SETLS   R13
	SETCC   R14
	SHLQ    $4, R13
	SHLQ    $4, R14
	ADDQ    R13, BX
	ADDQ    R14, CX
	MOVQ    X0, R10
	POPCNTL R10, R10
	ADDQ    R10, AX
	JMP     round

done:
	MOVQ AX, n+32(FP)
	MOVQ BX, i+40(FP)
	MOVQ CX, j+48(FP)
	RET

// func ascendingBlocks(b *byte, n int) (i int, ok bool)
//
// Each round compares 16 values with those after them. The comparison is signed, so their top bits are flipped.
TEXT ·ascendingBlocks(SB), NOSPLIT, $0-25
	MOVQ     b+0(FP), SI
	MOVQ     n+8(FP), R8
	XORQ     BX, BX
	VPCMPEQW Y5, Y5, Y5 // all greater so far
	VPSLLW   $15, Y5, Y6
	SUBQ     $34, R8    // where the last block may start

round:
	CMPQ     BX, R8
	JGT      done
	VPXOR    (SI)(BX*1), Y6, Y0
	VPXOR    2(SI)(BX*1), Y6, Y1
	VPCMPGTW Y0, Y1, Y2
	VPAND    Y2, Y5, Y5
	ADDQ     $32, BX
	JMP      round

done:
	VPMOVMSKB Y5, AX
	CMPL      AX, $-1
	SETEQ     ok+24(FP)
	MOVQ      BX, i+16(FP)
	VZEROUPPER
	RET

// func commonWords(a, b *byte, n int) int
//
// n is the number of bytes, a multiple of 32.
TEXT ·commonWords(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), R8
	XORQ AX, AX
	XORQ BX, BX

round:
	CMPQ    BX, R8
	JGE     done
	MOVQ    (SI)(BX*1), R9
	MOVQ    8(SI)(BX*1), R10
	MOVQ    16(SI)(BX*1), R11
	MOVQ    24(SI)(BX*1), R12
	ANDQ    (DI)(BX*1), R9
	ANDQ    8(DI)(BX*1), R10
	ANDQ    16(DI)(BX*1), R11
	ANDQ    24(DI)(BX*1), R12
	POPCNTQ R9, R9
	POPCNTQ R10, R10
	POPCNTQ R11, R11
	POPCNTQ R12, R12
	ADDQ    R9, AX
	ADDQ    R10, R11
	ADDQ    R11, AX
	ADDQ    R12, AX
	ADDQ    $32, BX
	JMP     round

done:
	MOVQ AX, ret+24(FP)
	RET
