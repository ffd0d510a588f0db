package docker

// namespaces: all of them, each the cell's own. NetworkDisabled leaves a loopback device alone in the network namespace
// and skips the engine's slow network set-up; the mode says the same to everyone who reads it.
func (c *conversion) namespaces() error {
	if err := c.left.Namespaces(); err != nil {
		return err
	}
	c.config.NetworkDisabled = true
	c.host.NetworkMode = "none"
	c.host.CgroupnsMode = "private"
	return nil
}

// memory: a limit, and no swap beyond it.
func (c *conversion) memory() error {
	limit, err := c.left.Memory()
	if err != nil {
		return err
	}
	noKiller := false
	c.host.Memory, c.host.MemorySwap, c.host.OomKillDisable = limit, limit, &noKiller
	return nil
}

// cpu is a hard cap, and a weight against others.
func (c *conversion) cpu() error {
	cpu, err := c.left.CPU()
	if err != nil {
		return err
	}
	// Not NanoCPUs: an engine refuses more of those than it has cores.
	c.host.CPUQuota, c.host.CPUPeriod, c.host.CPUShares = cpu.Quota, int64(cpu.Period), int64(cpu.Shares)
	return nil
}

func (c *conversion) pids() error {
	limit, err := c.left.PIDs()
	if err != nil {
		return err
	}
	c.host.PidsLimit = &limit
	return nil
}

// devices: the engine's few harmless ones. A rule that denies all is what it does anyway.
func (c *conversion) devices() error {
	return c.left.Devices()
}
