package host

import (
	"context"
	"io"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/catalog"
)

// by is a context for what a caller does. An operator at a command stays who it is, in whose place it ever acts.
func by(ctx context.Context, who a2e.Caller) context.Context {
	if a, known := audit.ActorOf(ctx); known && a.Door == operatorDoor {
		return ctx
	}
	return audit.By(ctx, audit.Actor{Principal: who.Principal, Agent: who.Agent, Door: who.Door})
}

// Those below say who writes: the store enters each write into the audit, in the same transaction.

type auditedCustom struct{ catalog.Custom }

func (a auditedCustom) Create(ctx context.Context, who a2e.Caller, principal int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	return a.Custom.Create(by(ctx, who), who, principal, d)
}

func (a auditedCustom) Update(ctx context.Context, who a2e.Caller, principal int64, name string, match int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	return a.Custom.Update(by(ctx, who), who, principal, name, match, d)
}

func (a auditedCustom) Restore(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.CustomSkill, error) {
	return a.Custom.Restore(by(ctx, who), who, principal, name, match)
}

func (a auditedCustom) Delete(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.Deleted, error) {
	return a.Custom.Delete(by(ctx, who), who, principal, name, match)
}

type auditedAgents struct{ catalog.Agents }

func (a auditedAgents) Create(ctx context.Context, who a2e.Caller, principal int64, name string) (*catalog.Agent, error) {
	return a.Agents.Create(by(ctx, who), who, principal, name)
}

func (a auditedAgents) Delete(ctx context.Context, who a2e.Caller, id, match int64) error {
	return a.Agents.Delete(by(ctx, who), who, id, match)
}

func (a auditedAgents) SetOverride(ctx context.Context, who a2e.Caller, id, principal int64, tool string, match int64, allowed *[]string) (*catalog.Override, error) {
	return a.Agents.SetOverride(by(ctx, who), who, id, principal, tool, match, allowed)
}

func (a auditedAgents) SkillOn(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*catalog.Agent, error) {
	return a.Agents.SkillOn(by(ctx, who), who, id, match, slug)
}

func (a auditedAgents) SkillOff(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*catalog.Agent, error) {
	return a.Agents.SkillOff(by(ctx, who), who, id, match, slug)
}

func (a auditedAgents) SetTool(ctx context.Context, who a2e.Caller, id, match int64, tool string, on bool) (*catalog.Agent, error) {
	return a.Agents.SetTool(by(ctx, who), who, id, match, tool, on)
}

type auditedApprovals struct{ catalog.Approvals }

func (a auditedApprovals) Approve(ctx context.Context, who a2e.Caller, id string) (*catalog.Approval, error) {
	return a.Approvals.Approve(by(ctx, who), who, id)
}

func (a auditedApprovals) Deny(ctx context.Context, who a2e.Caller, id, why string) (*catalog.Approval, error) {
	return a.Approvals.Deny(by(ctx, who), who, id, why)
}

// AuditedInstaller enters into the audit what becomes of the bundles that operators upload. A change that was made and is not in the
// audit is an error that says so.
type AuditedInstaller struct {
	catalog.Installer
	Audit audit.Recorder
}

// Install implements [catalog.Installer].
func (a AuditedInstaller) Install(ctx context.Context, name, kind string, archive io.Reader, match string) (*catalog.Installed, error) {
	got, err := a.Installer.Install(ctx, name, kind, archive, match)
	if err != nil {
		return nil, err
	}
	return got, a.record(ctx, audit.BundleInstall, got.Name, got)
}

// Rollback implements [catalog.Installer].
func (a AuditedInstaller) Rollback(ctx context.Context, name, version, match string) (*catalog.Installed, error) {
	got, err := a.Installer.Rollback(ctx, name, version, match)
	if err != nil {
		return nil, err
	}
	return got, a.record(ctx, audit.BundleRollback, got.Name, got)
}

// Remove implements [catalog.Installer].
func (a AuditedInstaller) Remove(ctx context.Context, name, match string) error {
	if err := a.Installer.Remove(ctx, name, match); err != nil {
		return err
	}
	return a.record(ctx, audit.BundleUninstall, name, nil)
}

func (a AuditedInstaller) record(ctx context.Context, kind, skill string, got *catalog.Installed) error {
	data := map[string]any{}
	if got != nil {
		data["version"], data["bundle"], data["files"], data["bytes"] = got.Version, got.Digest, got.Files, got.Bytes
	}
	return recordDone(ctx, a.Audit, audit.Entry{Kind: kind, Skill: skill, Data: data})
}
