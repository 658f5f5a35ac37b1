package checkpoint

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// A LastCheckpoint is what the file _delta_log/_last_checkpoint says (protocol, "Last Checkpoint File Schema"). It is a
// hint: the checkpoint it names may be gone, and newer ones may exist.
type LastCheckpoint struct {
	Version     int64
	Size        int64 // actions
	Parts       int   // 0 unless multi-part
	SizeInBytes int64 // 0 when unknown
	NumAdds     int64 // 0 when unknown
}

// maxChecked is the size of a text up to which its checksum is checked. Walking deep nesting is slow, and no hint is that long.
const maxChecked = 1 << 20

// ParseLastCheckpoint reads the file's text. It fails with an error that matches [ErrCorrupt] for text that is no JSON,
// lacks a version, or has a checksum that does not fit.
func ParseLastCheckpoint(data []byte) (*LastCheckpoint, error) {
	data, err := jsonscan.Text(data)
	if err != nil {
		return nil, corrupt("%s: %v", lastCheckpointName, err)
	}
	if data[0] != '{' {
		return nil, corrupt("%s is no JSON object", lastCheckpointName)
	}
	var l LastCheckpoint
	var parts int64
	var checksum []byte
	hasVersion := false
	numbers := map[string]*int64{
		"version": &l.Version, "size": &l.Size, "parts": &parts, "sizeInBytes": &l.SizeInBytes, "numOfAddFiles": &l.NumAdds,
	}
	_, err = jsonscan.Object(data, 0, func(key []byte, start, end int) error {
		value := data[start:end]
		if into := numbers[string(key)]; into != nil && !bytes.Equal(value, []byte("null")) {
			v, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil || v < 0 {
				return fmt.Errorf("%q is %s", key, value)
			}
			*into = v
			hasVersion = hasVersion || string(key) == "version"
		}
		if string(key) == "checksum" && value[0] == '"' {
			checksum = value[1 : len(value)-1]
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, corrupt("%s: %v", lastCheckpointName, err)
	case !hasVersion:
		return nil, corrupt("%s has no version", lastCheckpointName)
	case parts > 1<<31-1:
		return nil, corrupt("%s: %d parts", lastCheckpointName, parts)
	}
	l.Parts = int(parts)
	if checksum != nil && len(data) <= maxChecked {
		want, err := jsonChecksum(data)
		if err != nil {
			return nil, corrupt("%s: %v", lastCheckpointName, err)
		}
		if string(checksum) != want {
			return nil, corrupt("%s: its checksum is %s, not %s", lastCheckpointName, want, checksum)
		}
	}
	return &l, nil
}

// Append appends the file's text, checksum included.
func (l *LastCheckpoint) Append(dst []byte) []byte {
	from := len(dst)
	dst = fmt.Appendf(dst, `{"version":%d,"size":%d`, l.Version, l.Size)
	for _, f := range []struct {
		name  string
		value int64
	}{{"parts", int64(l.Parts)}, {"sizeInBytes", l.SizeInBytes}, {"numOfAddFiles", l.NumAdds}} {
		if f.value > 0 {
			dst = fmt.Appendf(dst, `,"%s":%d`, f.name, f.value)
		}
	}
	sum, err := jsonChecksum(append(dst[from:len(dst):len(dst)], '}'))
	if err != nil {
		panic(err) // what was just written is JSON
	}
	return fmt.Appendf(dst, `,"checksum":"%s"}`, sum)
}

// jsonChecksum computes the checksum of a JSON object without its member checksum (protocol, "JSON checksum").
func jsonChecksum(data []byte) (string, error) {
	var pairs [][2][]byte // canonical path and value
	err := canonical(data, 0, nil, &pairs)
	if err != nil {
		return "", err
	}
	slices.SortFunc(pairs, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
	sum := md5.New()
	for i, p := range pairs {
		if i > 0 {
			if bytes.Equal(pairs[i-1][0], p[0]) {
				return "", fmt.Errorf("%s is there twice", p[0])
			}
			sum.Write([]byte{','})
		}
		sum.Write(p[0])
		sum.Write([]byte{'='})
		sum.Write(p[1])
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// canonical adds the pairs of the value that begins at data[at] and has the given path.
func canonical(data []byte, at int, path []byte, pairs *[][2][]byte) error {
	below := func(name []byte) []byte {
		if len(path) == 0 {
			return name
		}
		return slices.Concat(path, []byte{'+'}, name)
	}
	switch data[at] {
	case '{':
		_, err := jsonscan.Object(data, at, func(key []byte, start, _ int) error {
			if len(path) == 0 && string(key) == "checksum" {
				return nil
			}
			return canonical(data, start, below(urlQuoted(key)), pairs)
		})
		return err
	case '[':
		i := 0
		_, err := jsonscan.Array(data, at, func(start, _ int) error {
			i++
			return canonical(data, start, below(strconv.AppendInt(nil, int64(i-1), 10)), pairs)
		})
		return err
	}
	end, err := jsonscan.Value(data, at)
	if err != nil {
		return err
	}
	value := data[at:end]
	if data[at] == '"' {
		text, err := jsonscan.Unquote(nil, data, at, end)
		if err != nil {
			return err
		}
		value = urlQuoted(text)
	}
	*pairs = append(*pairs, [2][]byte{path, value})
	return nil
}

// urlQuoted percent-encodes all but unreserved bytes and puts quotes around.
func urlQuoted(s []byte) []byte {
	dst := []byte{'"'}
	for _, c := range s {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
			dst = append(dst, c)
		} else {
			dst = fmt.Appendf(dst, "%%%02X", c)
		}
	}
	return append(dst, '"')
}
