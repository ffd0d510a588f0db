// Package skills says what a skill is and where it is found: bundles on disk (a folder with SKILL.md and optionally
// skill.yaml), the sources that hold them, their findings, and the validation of arguments and results.
//
// [Skill] is the one internal record; every protocol has a projection of its own. The package runs nothing and knows no
// sandbox: it imports policies, because a skill states what it wants to use.
package skills
