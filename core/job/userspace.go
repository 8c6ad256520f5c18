package job

import (
	"fmt"
	"strings"

	"lapi/core/job/adapters"
)

// Port names a port of an RDMA adapter, as MP_EUIDEVICE and MP_LAPI_NETWORK do.
type Port struct {
	Device string
	Number int // 0: the first that works
}

// String is the port as users write it.
func (p Port) String() string {
	if p.Number == 0 {
		return p.Device
	}
	return fmt.Sprintf("%s:%d", p.Device, p.Number)
}

// UserSpace is what the environment says of user space communication (MP_EUILIB=us): over RDMA
// adapters.
type UserSpace struct {
	Wanted bool
	Only   bool // LAPI_US=only: without an adapter LAPI_Init fails
	// Ports are those that MP_LAPI_NETWORK lists, else the port that MP_EUIDEVICE names; nil: any
	// that works.
	Ports []Port
	// Most is how many ports are used where Ports does not list them all.
	Most int
}

// maxPorts is how many adapters count (guide, Chapter 14).
const maxPorts = adapters.Max

// maxPort is the highest number that a port of an adapter can have.
const maxPort = 254

// parsePort reads "mlx5_0", "mlx5_0:2" or, as the rdma tool writes it, "mlx5_0/2".
func parsePort(s string) (p Port, err error) {
	p.Device = s
	if i := strings.LastIndexAny(s, ":/"); i >= 0 {
		p.Device = s[:i]
		if p.Number, err = parseNumber(s[i+1:]); err != nil {
			return p, fmt.Errorf("the port %q is %w", s[i+1:], err)
		}
		if p.Number < 1 || p.Number > maxPort {
			return p, fmt.Errorf("the port is %d, not 1 to %d", p.Number, maxPort)
		}
	}
	if p.Device == "" || strings.ContainsAny(p.Device, ":/, ") || len(p.Device) > 63 {
		return p, fmt.Errorf("%q is no name of an adapter", p.Device)
	}
	return p, nil
}

// userSpace reads MP_EUILIB. Scripts ask for user space as a matter of course. So a lack of it is
// an error only where LAPI_US, this library's own, says so.
func (r *reader) userSpace(c *Config) error {
	us, usSet := r.get("LAPI_US")
	only := strings.EqualFold(us, "only")
	if usSet && !only && !strings.EqualFold(us, "yes") {
		return &EnvError{"LAPI_US", codeCSSLoadFailed,
			fmt.Sprintf("the value %q is not valid; set it to yes or only, or unset it", us)}
	}
	s, ok := r.get("MP_EUILIB")
	switch {
	case !ok || strings.EqualFold(s, "ip"):
		return nil
	case !strings.EqualFold(s, "us"):
		return &EnvError{"MP_EUILIB", codeCSSLoadFailed,
			fmt.Sprintf("the value %q is not valid; set it to ip or us", s)}
	}
	c.US = UserSpace{Wanted: true, Only: only, Most: 1}
	if s, ok := r.get("MP_INSTANCES"); ok {
		n, err := adapters.ParseInstances(s)
		if err != nil {
			return &EnvError{"MP_INSTANCES", codeNoNetstrSet, fmt.Sprintf("the value %v", err)}
		}
		if c.US.Most = n; n == adapters.All {
			c.US.Most = maxPorts
		}
	}
	device, ok := r.get("MP_EUIDEVICE")
	switch {
	case device == adapters.AllNetworks:
		c.US.Most = maxPorts
		return nil
	case !ok || device == adapters.OneNetwork:
		return nil
	case adapters.IsGuideName(device):
		r.warnf(1, "MP_EUIDEVICE=%s names an adapter of AIX: adapters are chosen as if it were not "+
			"set", device)
		return nil
	}
	p, err := parsePort(device)
	if err != nil {
		return &EnvError{"MP_EUIDEVICE", codeNoNetstrSet, fmt.Sprintf("the value %q: %v. "+
			"With MP_EUILIB=us it is sn_single, sn_all, or an adapter with or without a port, "+
			"such as mlx5_0 or mlx5_0:1", device, err)}
	}
	c.US.Ports = []Port{p}
	return nil
}

// DeviceForIP is what MP_EUIDEVICE says about the networks of UDP/IP: nothing, if user space is
// wanted and the value names an adapter for it.
func DeviceForIP(euilib, device string) string {
	if strings.EqualFold(euilib, "us") && device != adapters.OneNetwork &&
		device != adapters.AllNetworks {
		return ""
	}
	return device
}
