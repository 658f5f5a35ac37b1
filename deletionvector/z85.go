package deletionvector

import (
	"encoding/binary"
	"fmt"
)

// z85Digits are the digits of Z85 (ZeroMQ RFC 32), the base 85 that needs no escaping in JSON: five digits stand for
// four bytes, most significant first.
const z85Digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// z85Values maps a character to its digit's value plus one, and every other byte to 0.
var z85Values = func() (values [256]uint8) {
	for i := range len(z85Digits) {
		values[z85Digits[i]] = uint8(i) + 1
	}
	return values
}()

// encodeZ85 encodes data, padded with zero bytes to a multiple of four as Delta does.
func encodeZ85(data []byte) string {
	text := make([]byte, 0, (len(data)+3)/4*5)
	for len(data) > 0 {
		var group [4]byte
		data = data[copy(group[:], data):]
		n := binary.BigEndian.Uint32(group[:])
		var digits [5]byte
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i] = z85Digits[n%85]
			n /= 85
		}
		text = append(text, digits[:]...)
	}
	return string(text)
}

// decodeZ85 is the inverse of encodeZ85; the padding stays.
func decodeZ85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, fmt.Errorf("%d characters are no whole number of Z85 groups of five", len(text))
	}
	data := make([]byte, 0, len(text)/5*4)
	for start := 0; start < len(text); start += 5 {
		var n uint64 // five digits reach 85^5-1, a little above 2^32
		for i := start; i < start+5; i++ {
			value := z85Values[text[i]]
			if value == 0 {
				return nil, fmt.Errorf("%q at character %d is no Z85 digit", text[i], i)
			}
			n = n*85 + uint64(value-1)
		}
		if n > 1<<32-1 {
			return nil, fmt.Errorf("the Z85 group %q at character %d is more than four bytes hold", text[start:start+5], start)
		}
		data = binary.BigEndian.AppendUint32(data, uint32(n))
	}
	return data, nil
}
