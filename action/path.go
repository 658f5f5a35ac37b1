package action

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// CanonicalPath returns the spelling of a file's path by which paths are compared, as Delta on Spark does: percent escapes
// are resolved, "file:/x", "file:///x" and "/x" are the same, and so are "a//b", "./a/b" and "a/b". A percent sign that
// begins no escape stands for itself.
func CanonicalPath(path string) string {
	if strings.IndexByte(path, '%') < 0 && !strings.HasPrefix(path, "file:") && !unclean([]byte(path)) {
		return path
	}
	return string(AppendCanonicalPath(nil, []byte(path)))
}

// AppendCanonicalPath is [CanonicalPath] for bytes: it appends to dst and returns the extended buffer.
func AppendCanonicalPath(dst, path []byte) []byte {
	if rest, ok := bytes.CutPrefix(path, []byte("file:")); ok && bytes.HasPrefix(rest, []byte("/")) {
		path = rest
		if bytes.HasPrefix(path, []byte("///")) { // an empty authority
			path = path[2:]
		}
	}
	start := len(dst)
	for {
		i := bytes.IndexByte(path, '%')
		if i < 0 {
			dst = append(dst, path...)
			break
		}
		dst = append(dst, path[:i]...)
		path = path[i:]
		if len(path) < 3 || !isHex(path[1]) || !isHex(path[2]) {
			dst = append(dst, '%')
			path = path[1:]
			continue
		}
		dst = append(dst, unhex(path[1])<<4|unhex(path[2]))
		path = path[3:]
	}
	if unclean(dst[start:]) {
		dst = appendClean(dst[:start], string(dst[start:]))
	}
	return dst
}

// unclean reports whether a path may have elements that lexical cleaning takes away. Nearly none has.
func unclean(path []byte) bool {
	return bytes.HasPrefix(path, []byte("./")) || bytes.Contains(path, []byte("//")) || bytes.Contains(path, []byte("/."))
}

// appendClean appends the path without needless elements. Scheme and authority stay as they are.
func appendClean(dst []byte, uri string) []byte {
	if hasScheme(uri) || strings.HasPrefix(uri, "//") {
		authority := strings.Index(uri, "//")
		if authority < 0 {
			return append(dst, uri...)
		}
		end := strings.IndexByte(uri[authority+2:], '/')
		if end < 0 {
			return append(dst, uri...)
		}
		end += authority + 2
		dst = append(dst, uri[:end]...)
		uri = uri[end:]
	}
	return append(dst, path.Clean(uri)...)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// ErrOutside matches errors about paths that do not name a file inside the table.
var ErrOutside = errors.New("not a file inside the table")

// FileName returns the name of a file relative to the table's root, as a log store takes it, for the path of an action. A
// path that is absolute, a URI with a scheme, or leaves the root is an error that matches [ErrOutside].
func FileName(uri string) (string, error) {
	if hasScheme(uri) {
		return "", fmt.Errorf("action: path %q is absolute: %w", uri, ErrOutside)
	}
	name := path.Clean(CanonicalPath(uri))
	if !fs.ValidPath(name) || name == "." || strings.IndexByte(name, 0) >= 0 {
		return "", fmt.Errorf("action: path %q: %w", uri, ErrOutside)
	}
	return name, nil
}

// hasScheme reports whether uri begins with a scheme as RFC 2396 spells them. Others read relative paths with a colon in
// them, such as time=12:00/a.parquet, and so do we.
func hasScheme(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	return strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") == ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
