package curator

import (
	"testing"

	"github.com/hotcell/hotcell/internal/catalog"
)

// What a skill declares in allowed-tools is no grant: a write that an agent asks for waits all the same, and an agent whose
// skills declare nothing may ask, too.
func TestADeclarationSparesNoApproval(t *testing.T) {
	a := newAgency(t, false)
	d := draft("writer")
	d.AllowedTools = ptr("manage_skill skill")
	a.create(t, alice, 0, d)
	a.agent(t, alice, 0, "silent")
	bot := a.agent(t, alice, 0, "bot")
	a.allow(t, alice, bot.ID, "writer")
	for _, agent := range []string{"bot", "silent"} {
		data, fault := a.use(t, as(alice, agent), manageTool, `{"action":"create","name":"of-`+agent+`","description":"x","body":"x"}`)
		if fault != "" || data["approval"].(map[string]any)["state"] != pending {
			t.Errorf("%s: %v %s", agent, data, fault)
		}
		_, err := a.Custom.Show(t.Context(), alice, 0, "of-"+agent)
		refused(t, err, catalog.SkillNotFound)
	}
}
