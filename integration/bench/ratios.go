package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// ratio is one row's median divided by another's.
type ratio struct{ key, a, b string }

func ratios() []ratio {
	all := []ratio{
		{"cold_vs_raw_engine", coldDocker + firstEvent, rawEngine + firstEvent},
		{"cold_vs_raw_same", coldDocker + firstEvent, rawSame + firstEvent},
		{"cold_vs_docker_run", coldDocker + firstEvent, dockerRun + firstEvent},
		{"oci_cold_vs_runc", coldOCI + firstEvent, runcRun + firstEvent},
		{"warm_vs_raw_attach", waiting(onDocker, framesSkill) + firstEvent, rawAttach + firstEvent},
		{"warm_child_vs_raw_attach", waiting(onDocker, prestartSkill) + firstEvent, rawAttach + firstEvent},
		{"warm_runsc_vs_raw_attach", waiting(onRunsc, framesSkill) + firstEvent, rawAttachRunsc + firstEvent},
		{"warm_vs_docker_run", waiting(onDocker, framesSkill) + firstEvent, dockerRun + firstEvent},
		{"oci_warm_vs_docker_warm", waiting(onOCI, framesSkill) + firstEvent, waiting(onDocker, framesSkill) + firstEvent},
		{"kube_warm_vs_raw_attach", waiting(onCluster, framesSkill) + firstEvent, rawPodWaits + firstEvent},
		{"kube_cold_vs_raw", coldCluster + firstEvent, rawPod + firstEvent},
		{"kube_cold_vs_raw_same", coldCluster + firstEvent, rawPodSame + firstEvent},
		{"oci_warm_vs_pipe", waiting(onOCI, framesSkill) + firstEvent, localPipe + firstEvent},
	}
	return all
}

// differences are one row's median less another's, in the rows' unit.
func differences() []ratio {
	return []ratio{
		{"prestart_import_ms", waiting(onDocker, importSkill) + firstEvent, waiting(onDocker, prestartSkill) + firstEvent},
		{"warm_python_over_exec_ms", waiting(onDocker, childSkill) + firstEvent, rawExec + firstEvent},
		{"door_overhead_ms_a2e_cell", overSocket + result, inProcess + result},
	}
}

// doorRatios are what each door adds to a call, and the worst of them.
func (r *report) doorRatios() {
	direct, measured := r.p50(hostedDirect + result)
	if !measured {
		return
	}
	const key = "door_overhead_ms"
	for _, door := range everyDoor() {
		through, ok := r.p50(door.name + result)
		if !ok {
			continue
		}
		over := round(through - direct)
		r.Ratios[key+"_"+door.key] = over
		if worst, there := r.Ratios[key]; !there || over > worst {
			r.Ratios[key] = over
		}
	}
}

// finish computes the ratios of what was measured.
func (r *report) finish() {
	for _, q := range ratios() {
		if v, ok := r.divided(q.a, q.b); ok {
			r.Ratios[q.key] = v
		}
	}
	for _, q := range differences() {
		a, haveA := r.p50(q.a)
		b, haveB := r.p50(q.b)
		if haveA && haveB {
			r.Ratios[q.key] = round(a - b)
		}
	}
	for key, name := range figures() {
		if v, ok := r.p50(name); ok {
			r.Ratios[key] = round(v)
		}
	}
	r.growth("history_growth", histories, historyRow)
	r.growth("skills_growth", skillSets, skillsRow)
	r.throughputRatios()
	r.doorRatios()
	r.slowestPage()
}

// slowestPage is the dearest page of the console.
func (r *report) slowestPage() {
	for _, row := range r.of("console") {
		r.Ratios["console_slowest_ms"] = max(r.Ratios["console_slowest_ms"], round(row.P50))
	}
}

// figures are rows that are followed as they are, by key.
func figures() map[string]string {
	return map[string]string{
		"relay_mb_s": relayBytes, "relay_events_s": relayEvents, "relay_cell_mb_s": cellBytes,
		"tunnel_first_byte_ms": tunnelFirst, "tunnel_mb_s": tunnelDown,
		"catalogue_scan_ms": catalogueScan, "catalogue_reload_ms": catalogueReload, "catalogue_list_ms": catalogueAfter, "catalogue_lookup_us": catalogueFind,
		"rss_idle_mb": rssIdle, "rss_flood_mb": rssFlood, "rss_per_waiting_cell_kb": rssWaiting, "rss_per_running_call_kb": rssRunning,
	}
}

// growth is how much the dearest of several rows costs of what the first one costs.
func (r *report) growth(key string, sizes []int, name func(int) string) {
	for _, n := range sizes[1:] {
		if v, ok := r.divided(name(n)+result, name(sizes[0])+result); ok {
			r.Ratios[key] = max(r.Ratios[key], v)
		}
	}
}

func (r *report) divided(a, b string) (float64, bool) {
	over, haveA := r.p50(a)
	under, haveB := r.p50(b)
	return round(over / under), haveA && haveB && under > 0
}

// throughputRatios adds those of each load, and of all loads together the worst.
func (r *report) throughputRatios() {
	worst := func(key string, v float64) {
		if old, there := r.Ratios[key]; !there || v < old {
			r.Ratios[key] = v
		}
	}
	for _, l := range loads() {
		for _, at := range parallel {
			if v, ok := r.divided(l.at(at), l.rawAt(at)); ok {
				key := fmt.Sprintf("throughput_vs_raw_%d", at)
				r.Ratios[key+"_"+l.key] = v
				worst(key, v)
			}
		}
		if v, ok := r.divided(l.at(64), l.at(4)); ok {
			r.Ratios["throughput_64_vs_4_"+l.key] = v
			worst("throughput_64_vs_4", v)
		}
	}
}

// round keeps four digits that mean something.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}

func (r *report) keys() []string { return slices.Sorted(maps.Keys(r.Ratios)) }
