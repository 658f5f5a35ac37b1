package conflict

import (
	"net/url"
	"strings"
)

// canonicalPath makes two spellings of one file's path equal: the log has URIs, and not every writer escapes alike. Text
// that is no URI stands for itself. Paths that differ may still be one file when one is absolute; writers of one table
// spell alike in practice, and Delta compares the spelling.
func canonicalPath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}
