// Command hotcell-engine runs agent and JavaScript skills inside cells. The runner starts it as the skill's process: "engine
// agent" for a skill that is instructions, "engine js FILE" for one that is JavaScript.
package main
