package a2ehost

import (
	"errors"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Each reason for which a handshake is refused, what follows it, and whether the session goes on.
func TestReasonsOfARefusedHandshake(t *testing.T) {
	good := shake("me", "alices-key")
	for name, tt := range map[string]struct {
		line, reason string
		broken, ends bool
	}{
		"token":   {line: shake("me", "mallorys-key"), reason: reasonAuth, ends: true},
		"version": {line: `{"type":"handshake/req","id":"h","version":"2.0","auth_token":"alices-key"}`, reason: reasonVersion},
		"caps":    {line: `{"type":"handshake/req","id":"h","agent_id":"x","agent_caps":["env"],"auth_token":"alices-key"}`, reason: reasonNoCaps},
		"server":  {line: good, reason: reasonServer, broken: true, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, keeper := newFake(), newDoorkeeper()
			if tt.broken {
				keeper.err = errors.New("no disk")
			}
			p, _ := startSession(t, t.Context(), newHost(t, Options{Handler: f, Auth: keeper}))
			p.send(tt.line)
			if got := recv[*a2e.HandshakeResponse](p); got.OK || got.Reason != tt.reason || got.ReqID != "h" {
				t.Errorf("handshake = %+v", got)
			}
			if tt.ends {
				p.end()
				return
			}
			p.send(callLine("c1", "echo"))
			if got := recv[*a2e.CallResponse](p); got.Error == nil || got.Error.Code != a2e.Unauthorized {
				t.Errorf("a call after it: %+v", got)
			}
			p.send(good, callLine("c2", "echo"))
			recv[*a2e.HandshakeResponse](p)
			recv[*a2e.CallResponse](p)
			if len(f.saw) != 1 || f.saw[0].Agent != "me" {
				t.Errorf("the handler saw %+v", f.saw)
			}
		})
	}
}
