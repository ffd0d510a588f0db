package llm

// How long a key may be, in bytes. What is shorter could not be told from ordinary text in an answer.
const (
	MinKey = 8
	MaxKey = 8 << 10
)

// IsKey reports whether s can be a provider's key: what a header can carry, without blanks.
func IsKey(s string) bool {
	if len(s) < MinKey || len(s) > MaxKey {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
