package mcphost

//lint:file-ignore SA1019 what the newest revision gives up is what clients of the others have

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
)

// withLogging says that clients may set a level.
func withLogging(caps *mcp.ServerCapabilities) { caps.Logging = &mcp.LoggingCapabilities{} }

// log tells a client what its call logs, if it wants that level.
func (l *listener) log(ev *a2e.Event) error {
	return l.session.Log(l.ctx, &mcp.LoggingMessageParams{Logger: l.skill, Level: level(ev), Data: ev.Data})
}

// level puts the level of a log event into the protocol's words.
func level(ev *a2e.Event) mcp.LoggingLevel {
	if ev.Kind != a2e.KindLog {
		return "info"
	}
	switch ev.Data["level"] {
	case "debug":
		return "debug"
	case "warn", "warning":
		return "warning"
	case "error":
		return "error"
	}
	return "info"
}
