package predicate

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/deltaskip/deltaskip/schema"
)

// hashSeed is the seed of Spark's hash and xxhash64; each argument's hash seeds the next, and NULL passes the seed on.
const hashSeed = 42

var hashFunctions = []Function{
	{Name: "hash", Resolve: resolveHash(schema.Integer), Eval: pure(func(a []Value) Value {
		h := uint32(hashSeed)
		for _, v := range a {
			if !v.Null {
				h = murmur3(v, h)
			}
		}
		return integer(int(int32(h)))
	})},
	{Name: "xxhash64", Resolve: resolveHash(schema.Long), Eval: pure(func(a []Value) Value {
		h := uint64(hashSeed)
		for _, v := range a {
			if !v.Null {
				d := xxhash.NewWithSeed(h)
				_, _ = d.Write(hashBytes(v))
				h = d.Sum64()
			}
		}
		return IntOf(schema.Long, int64(h))
	})},
	{Name: "typeof", Resolve: func(args []Expr) ([]schema.Type, schema.Type, error) {
		types, err := resolveParams(args, 1, []param{asItIs})
		return types, stringType, err
	}, Eval: pure(func(a []Value) Value { return StringOf(a[0].Type.String()) })},
}

// asItIs takes any type that a Value can hold.
func asItIs(t schema.Type) (schema.Type, bool) { return t, true }

func resolveHash(result schema.Kind) resolveFunc {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		if len(args) == 0 {
			return nil, schema.Type{}, wrongCount(0, 1, math.MaxInt32)
		}
		types, err := resolveParams(args, len(args), slices.Repeat([]param{asItIs}, len(args)))
		return types, schema.Type{Kind: result}, err
	}
}

// hashBytes is what Spark hashes of a value: small kinds as 4 bytes, larger ones as 8, little endian, text and wide
// decimals as they are.
func hashBytes(v Value) []byte {
	switch v.Type.Kind {
	case schema.Boolean, schema.Byte, schema.Short, schema.Integer, schema.Date:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.I))
	case schema.Long, schema.Timestamp, schema.TimestampNTZ:
		return binary.LittleEndian.AppendUint64(nil, uint64(v.I))
	case schema.Float:
		// Adding 0 makes 0 of -0. Java has one NaN.
		b := math.Float32bits(float32(v.F) + 0)
		if math.IsNaN(v.F) {
			b = 0x7fc00000
		}
		return binary.LittleEndian.AppendUint32(nil, b)
	case schema.Double:
		b := math.Float64bits(v.F + 0)
		if math.IsNaN(v.F) {
			b = 0x7ff8000000000000
		}
		return binary.LittleEndian.AppendUint64(nil, b)
	case schema.Decimal:
		if v.Type.Precision <= 18 {
			return binary.LittleEndian.AppendUint64(nil, v.D.LowBits())
		}
		// Big endian two's complement in as few bytes as hold the sign.
		b := binary.BigEndian.AppendUint64(nil, uint64(v.D.HighBits()))
		b = binary.BigEndian.AppendUint64(b, v.D.LowBits())
		for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xFF && b[1] >= 0x80) {
			b = b[1:]
		}
		return b
	}
	return []byte(v.S)
}

// murmur3 is Murmur3_x86_32 as Spark has it: bytes after the last whole word are mixed in one by one, each as a word.
func murmur3(v Value, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	b := hashBytes(v)
	h := seed
	mix := func(k uint32) {
		k *= c1
		k = bits.RotateLeft32(k, 15)
		k *= c2
		h = bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
	}
	words := len(b) &^ 3
	for i := 0; i < words; i += 4 {
		mix(binary.LittleEndian.Uint32(b[i:]))
	}
	for _, c := range b[words:] {
		mix(uint32(int32(int8(c))))
	}
	h ^= uint32(len(b))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return h
}
