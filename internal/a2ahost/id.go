package a2ahost

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	maxContext = 128 // bytes of a context id
	maxMessage = 256 // bytes of a message id
)

// identity is what a task's id says, which is all that is known of a task beside its call: the context, and whether its
// client takes results as text alone.
type identity struct {
	task, context string
	text          bool
}

// TaskInfo implements [a2a.TaskInfoProvider].
func (i identity) TaskInfo() a2a.TaskInfo {
	return a2a.TaskInfo{TaskID: a2a.TaskID(i.task), ContextID: i.context}
}

// question is the request id of the call that asks which skill is meant.
func (i identity) question() string { return i.task + questionMark }

const (
	questionMark = "/q"
	ownContext   = "ctx-" // before the task's own digits: a context that the client did not choose
)

var taskForm = regexp.MustCompile(`^([jt])([0-9a-f]{32})(?:\.([A-Za-z0-9_-]{1,172}))?$`)

// newIdentity makes a task's id. context is "" where the client chose none.
func newIdentity(context string, text bool) identity {
	kind, digits := "j", a2e.NewID()
	if text {
		kind = "t"
	}
	if context == "" {
		return identity{kind + digits, ownContext + digits, text}
	}
	return identity{kind + digits + "." + base64.RawURLEncoding.EncodeToString([]byte(context)), context, text}
}

// parseTask reads a task's id. There is one id for each task: others that would mean the same are none.
func parseTask(id string) (identity, bool) {
	m := taskForm.FindStringSubmatch(id)
	if m == nil {
		return identity{}, false
	}
	i := identity{task: id, context: ownContext + m[2], text: m[1] == "t"}
	if m[3] != "" {
		b, err := base64.RawURLEncoding.Strict().DecodeString(m[3])
		if err != nil || !plain(string(b), maxContext) {
			return identity{}, false
		}
		i.context = string(b)
	}
	return i, true
}

// parseRequest reads the request id of a task's call.
func parseRequest(id string) (i identity, question, ok bool) {
	id, question = strings.CutSuffix(id, questionMark)
	i, ok = parseTask(id)
	return i, question, ok
}

// plain reports whether a client's id is text of a length that can be kept.
func plain(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
