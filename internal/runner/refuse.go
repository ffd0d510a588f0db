package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// refuse answers an HTTP client that cannot be served, and lets it read that.
func (s *tcp) refuse(err error) {
	until := time.Now().Add(lastWords)
	s.setDeadline(until)
	if _, err := s.Write(refusal(err)); err == nil {
		s.closeWrite()
	}
}

// refusal is the answer in HTTP: 403 for what is never to be had, 502 for what went wrong.
func refusal(err error) []byte {
	status, reason := "502 Bad Gateway", err.Error()
	var closed *wall.ClosedError
	if errors.As(err, &closed) {
		var never bool
		if reason, never = strings.CutPrefix(closed.Reason, wall.Refused); never {
			status = "403 Forbidden"
		}
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	body.Error.Message, body.Error.Type = "hotcell: "+reason, "hotcell_refused"
	b, _ := json.Marshal(body) // strings always encode
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(b), b)
}
