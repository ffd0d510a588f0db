package console

import (
	"fmt"
	"net/url"
)

// stops are all pages, some of them several times where what they show differs.
func stops(s *seeded) []stop {
	all := append(callStops(s), skillStops()...)
	all = append(all, agentStops(s)...)
	return append(all, hostStops()...)
}

// failures are the calls that failed, and what their pages have to say.
func failures() map[string][]string {
	return map[string][]string{
		"timeout":       {"slow-import", "timeout"},
		"oom":           {"greedy-table", "out_of_memory", "memory"},
		"crash":         {"crashing-parser", "sandbox_crash"},
		"flood":         {"chatty-scraper", "output"},
		"egress":        {"weather-lookup", "weather.example:443"},
		"exit":          {"exits-badly", "KeyError: 'sales'"},
		"hostile error": {"hostile-error"},
		"schema":        {"monthly-report", "month"},
		"cancelled":     {"ticker"},
	}
}

func callStops(s *seeded) []stop {
	one := "GET /console/calls/{id}"
	all := []stop{
		{route: "GET /console/{$}", name: "overview", path: "/console/", shows: []string{"Overview", "monthly-report", "Failed last"}},
		{route: "GET /console/{$}", name: "overview-all", path: "/console/?window=7d&live=off", shows: []string{"Overview", "slow-import"}},
		{route: "GET /console/calls", name: "calls", path: "/console/calls", shows: []string{"Calls", "Verdict"}},
		{route: "GET /console/calls", name: "calls-hostile", path: "/console/calls?skill=hostile-output", shows: []string{"hostile-output", "stranger"}},
		{route: "GET /console/calls", name: "calls-failed", path: "/console/calls?verdict=failed&skill=greedy-table", shows: []string{"greedy-table", "out_of_memory"}},
		{route: "GET /console/calls", name: "calls-none", path: "/console/calls?skill=nothing-like-it", shows: []string{"No call matches"}},
		{route: "GET /console/calls", name: "calls-hostile-filter", path: "/console/calls?skill=" + url.QueryEscape(short()), shows: []string{"No call matches"}},
		{route: one, name: "call-success", path: s.call("success"), shows: []string{"monthly-report", "200 sold", "chart.png", "sales.csv", "Adding them up", "by_region"}},
		{route: one, name: "call-agent", path: s.call("agent"), shows: []string{"packing-list", "Pack for 21 days.", "calculator"}},
		{route: one, name: "call-hosted", path: s.call("hosted"), shows: []string{"skill-catalog"}},
		{route: one, name: "call-hostile", path: s.call("hostile"), shows: []string{"hostile-output", "window.__xss='script'"}},
	}
	for _, name := range []string{"timeout", "oom", "crash", "flood", "egress", "exit", "hostile error", "schema", "cancelled"} {
		all = append(all, stop{route: one, name: "call-" + name, path: s.call(name), shows: failures()[name]})
	}
	file := func(call, name string) string { return s.call(call) + "/file?name=" + url.QueryEscape(name) }
	return append(all,
		stop{route: one + "/files", name: "files", path: s.call("success") + "/files", shows: []string{"chart.png", "sales.csv", "raw.bin"}},
		stop{route: one + "/files", name: "files-hostile", path: s.call("hostile") + "/files", shows: []string{"page.html", "picture.svg"}},
		stop{route: one + "/file", name: "file-text", path: file("success", "sales.csv"), shows: []string{"north,120"}},
		stop{route: one + "/file", name: "file-picture", path: file("success", "chart.png"), shows: []string{"chart.png"}},
		stop{route: one + "/file", name: "file-binary", path: file("success", "raw.bin"), shows: []string{"raw.bin"}},
		stop{route: one + "/file", name: "file-html", path: file("hostile", "page.html"), shows: []string{"window.__xss='script'"}},
		stop{route: one + "/file", name: "file-svg", path: file("hostile", "picture.svg"), shows: []string{"picture.svg"}},
		stop{route: one + "/file", name: "file-lies", path: file("hostile", "lies.png"), shows: []string{"lies.png"}},
		stop{route: one + "/file", name: "file-markdown", path: file("hostile", "notes.md"), shows: []string{"window.__xss='script'"}},
		stop{route: one + "/file", name: "file-wide", path: file("hostile", "wide.txt"), shows: []string{"WWWWWW"}},
	)
}

func skillStops() []stop {
	one := "GET /console/skills/{name}"
	return []stop{
		{route: "GET /console/skills", name: "skills", path: "/console/skills", shows: []string{"Skills", "monthly-report", "hostile-output"}},
		{route: "GET /console/skills", name: "skills-found", path: "/console/skills?q=" + url.QueryEscape("report"), shows: []string{"monthly-report"}},
		{route: one, name: "skill", path: "/console/skills/monthly-report", shows: []string{"monthly-report", "Monthly report", "Give the month as"}},
		{route: one, name: "skill-hostile", path: "/console/skills/hostile-output", shows: []string{"hostile-output", "harmless"}},
		{route: one, name: "skill-blocked", path: "/console/skills/broken-by-its-yaml", shows: []string{"broken-by-its-yaml"}},
		{route: one, name: "skill-long", path: "/console/skills/a-skill-with-a-name-as-long-as-names-may-be-which-is-a-lot-of-it", shows: []string{"a-lot-of-it"}},
		{route: one, name: "skill-agent", path: "/console/skills/packing-list", shows: []string{"packing-list", "Find out how long"}},
		{route: one + "/files/{path...}", name: "skill-file", path: "/console/skills/monthly-report/files/scripts/main.py", shows: []string{"import hotcell"}},
		{route: one + "/files/{path...}", name: "skill-file-hostile", path: "/console/skills/hostile-output/files/scripts/page.html", shows: []string{"window.__xss='script'"}},
		{route: one + "/files/{path...}", name: "skill-file-name", path: "/console/skills/hostile-output/files/" + url.PathEscape(fileName()+".md"), shows: []string{"Instructions"}},
		{route: one + "/try", name: "try", path: "/console/skills/monthly-report/try", shows: []string{"The month, as YYYY-MM.", "Call it"}},
		{route: one + "/try", name: "try-hostile", path: "/console/skills/hostile-output/try", shows: []string{"hostile-output"}},
		{route: "GET /console/custom", name: "custom", path: "/console/custom", shows: []string{"house-style", "hostile-custom"}},
		{route: "GET /console/custom/{name}", name: "custom-one", path: "/console/custom/house-style", shows: []string{"house-style", "Plain words."}},
		{route: "GET /console/custom/{name}", name: "custom-hostile", path: "/console/custom/hostile-custom", shows: []string{"hostile-custom"}},
		{route: "GET /console/custom/{name}/files/{path...}", name: "custom-file", path: "/console/custom/house-style/files/references/words.md", shows: []string{"colour, not color"}},
		{route: "GET /console/custom/{name}/files/{path...}", name: "custom-file-hostile", path: "/console/custom/hostile-custom/files/references/evil.svg", shows: []string{"window.__xss"}},
		{route: "GET /console/custom/-/new", name: "custom-new", path: "/console/custom/-/new", shows: []string{"Write a skill", "What it does"}},
		{route: "GET /console/custom/{name}/edit", name: "custom-edit", path: "/console/custom/house-style/edit", shows: []string{"house-style"}},
		{route: "GET /console/custom/{name}/edit", name: "custom-edit-hostile", path: "/console/custom/hostile-custom/edit", shows: []string{"hostile-custom"}},
		{route: "GET /console/custom/{name}/changes", name: "custom-changes", path: "/console/custom/house-style/changes", shows: []string{"No jargon."}},
		{route: "GET /console/custom/{name}/changes", name: "custom-changes-hostile", path: "/console/custom/hostile-custom/changes", shows: []string{"changed"}},
		{route: "GET /console/custom/{name}/delete", name: "custom-delete", path: "/console/custom/house-style/delete", shows: []string{"house-style"}},
	}
}

func agentStops(s *seeded) []stop {
	approval := func(what string) string { return "/console/approvals/" + url.PathEscape(s.approvals[what]) }
	one := "GET /console/approvals/{id}"
	return []stop{
		{route: "GET /console/agents", name: "agents", path: "/console/agents", shows: []string{"scribe", "reviewer", "manage_skill"}},
		{route: "GET /console/agents/{id}", name: "agent", path: fmt.Sprintf("/console/agents/%d", s.agents["scribe"]), shows: []string{"scribe", "manage_skill", "calculator"}},
		{route: "GET /console/agents/{id}", name: "agent-new", path: fmt.Sprintf("/console/agents/%d", s.agents["reviewer"]), shows: []string{"reviewer"}},
		{route: "GET /console/agents/principal/{principal}/defaults", name: "agent-defaults", path: fmt.Sprintf("/console/agents/principal/%d/defaults", s.principal), shows: []string{"Default skills"}},
		{route: "GET /console/approvals", name: "approvals", path: "/console/approvals", shows: []string{"greetings", "pending"}},
		{route: one, name: "approval-create", path: approval("create greetings"), shows: []string{"greetings", "Dear all,", "Approve"}},
		{route: one, name: "approval-update", path: approval("update house-style"), shows: []string{"house-style"}},
		{route: one, name: "approval-hostile", path: approval("create hostile-wish"), shows: []string{"hostile-wish"}},
		{route: one, name: "approval-delete", path: approval("delete house-style"), shows: []string{"Delete skill house-style"}},
	}
}

func hostStops() []stop {
	return []stop{
		{route: "GET /console/policies", name: "policies", path: "/console/policies", shows: []string{"Policies", "monthly-report"}},
		{route: "GET /console/policies", name: "policy", path: "/console/policies?skill=weather-lookup", shows: []string{"weather-lookup", "weather.example:443"}},
		{route: "GET /console/policies", name: "policy-none", path: "/console/policies?skill=" + url.QueryEscape(short()), shows: []string{"No shipped skill"}, status: 404},
		{route: "GET /console/images", name: "images", path: "/console/images", shows: []string{"Images"}},
		{route: "GET /console/audit", name: "audit", path: "/console/audit", shows: []string{"Audit", "call.end"}},
		{route: "GET /console/audit", name: "audit-skill", path: "/console/audit?skill=monthly-report", shows: []string{"monthly-report"}},
		{route: "GET /console/audit/{n}", name: "audit-row", path: "/console/audit/5", shows: []string{"call.end"}},
		{route: "GET /console/doctor", name: "doctor", path: "/console/doctor", shows: []string{"Doctor"}},
	}
}

// flows are the routes that the tests of flows go through, and which test that is.
func flows() map[string]string {
	return map[string]string{
		"GET /console/login":                                  "TestSignIn",
		"POST /console/login":                                 "TestSignIn",
		"POST /console/logout":                                "TestSignIn",
		"GET /console/live/overview":                          "TestLivePages",
		"GET /console/live/calls":                             "TestLivePages",
		"GET /console/calls/{id}/live":                        "TestARunningCall",
		"POST /console/calls/{id}/cancel":                     "TestARunningCall",
		"POST /console/calls/{id}/again":                      "TestRunAgain",
		"GET /console/calls/{id}/result":                      "TestArtifacts",
		"GET /console/calls/{id}/picture":                     "TestArtifacts",
		"GET /console/calls/{id}/download":                    "TestArtifacts",
		"POST /console/skills/{name}/try":                     "TestTryIt",
		"POST /console/skills/{name}/rollback":                "TestRollBack",
		"POST /console/custom/-/new":                          "TestCustomSkills",
		"POST /console/custom/-/check":                        "TestCustomSkills",
		"POST /console/custom/{name}/edit":                    "TestCustomSkills",
		"POST /console/custom/{name}/restore":                 "TestCustomSkills",
		"POST /console/custom/{name}/delete":                  "TestCustomSkills",
		"POST /console/agents":                                "TestAgents",
		"POST /console/agents/{id}/delete":                    "TestAgents",
		"POST /console/agents/{id}/tool":                      "TestAgents",
		"POST /console/agents/{id}/skill":                     "TestAgents",
		"POST /console/agents/{id}/allowed":                   "TestAgents",
		"POST /console/agents/principal/{principal}/defaults": "TestAgents",
		"POST /console/approvals/{id}/approve":                "TestApprovals",
		"POST /console/approvals/{id}/deny":                   "TestApprovals",
		"GET /console/images/live":                            "TestImages",
		"POST /console/images/ask":                            "TestImages",
		"POST /console/images/pull":                           "TestImages",
		"POST /console/images/pin":                            "TestImages",
		"POST /console/images/unpin":                          "TestImages",
		"POST /console/images/prune":                          "TestImages",
		"POST /console/audit/verify":                          "TestAudit",
		"GET /console/doctor/live":                            "TestDoctor",
		"POST /console/doctor":                                "TestDoctor",
	}
}
