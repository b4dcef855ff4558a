package providers

import (
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// The settings refuse an entry of REVEILLE_EGRESS_ALLOW if and only if the clients do.
func TestSettingsAndClientsReadTheSameList(t *testing.T) {
	for _, test := range []struct {
		list string
		ok   bool
	}{
		{"10.0.0.5", true},
		{"10.0.0.0/8, Model.Internal.,fd12::/32,::1,", true},
		{"0.0.0.0/0,::/0", true},
		{"::ffff:10.0.0.5", true},
		{"168.0.0.0/7", true},
		{"a_b", true},
		{"*.internal", false},
		{"-a", false},
		{"a..b", false},
		{"http://a", false},
		{"10.0.0.5:80", false},
		{"127.1", false},
		{"0x7f.0x1", false},
		{"a.0x", false},
		{"2130706433", false},
		{"10.0.0.0/33", false},
		{"fe80::1%eth0", false},
		{"fd12::1%eth0", false},
		{"169.254.169.254", false},
		{"169.254.0.0/16", false},
		{"::ffff:169.254.169.254", false},
		{"fd00:ec2::254", false},
		{"fe80::/10", false},
		{"ff02::1", false},
		{"224.0.0.0/8", false},
		{"0.0.0.0", false},
		{"::", false},
		{"255.255.255.255", false},
	} {
		t.Setenv("REVEILLE_EGRESS_ALLOW", test.list)
		_, err := settings.Read([]string{"REVEILLE_EGRESS_ALLOW=" + test.list})
		_, failed := Bind(env.System(), read(t, "OPENAI_API_KEY=k"))
		if (err == nil) != test.ok || (failed == nil) != test.ok {
			t.Errorf("%s: the settings say %v, a client %v, want allowed %v", test.list, err, failed, test.ok)
		}
	}
}

// A server in a private network is reached once the operator allows it.
func TestAServerInTheOwnNetwork(t *testing.T) {
	t.Setenv("REVEILLE_EGRESS_ALLOW", "10.0.0.0/8")
	if b, err := Bind(env.System(), read(t, "REVEILLE_MODEL=vllm/m REVEILLE_MODEL_BASE_URL=http://10.0.0.5:8000/v1")); err != nil || b.Model == nil {
		t.Errorf("model %v, error %v", b.Model, err)
	}
}
