//go:build aws

package deployed

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// network is where a function is.
type network struct{ SubnetIds, SecurityGroupIds []string }

// rights are what parameters add to a role.
type rights struct {
	ManagedPolicyArns []string
	Policies          []struct{ PolicyName string }
}

// With a VPC, Step and Stream are in it, and their roles may attach them. Policies for tools
// are of the same two.
func TestToolsRunInTheVpcWithTheirPolicies(t *testing.T) {
	text := transform(t)
	policies := []string{"arn:aws:iam::123456789012:policy/orders", "arn:aws:iam::aws:policy/AmazonSNSReadOnlyAccess"}
	inVpc := &network{[]string{"subnet-0123abcd", "subnet-4567abcd"}, []string{"sg-0123abcd"}}
	tests := []struct {
		name       string
		parameters map[string]string
		network    *network
		roles      map[string]rights
	}{
		{"neither", nil, nil, map[string]rights{"StepRole": {nil, named("step")}, "StreamRole": {nil, named("stream")}}},
		{"a VPC", map[string]string{"VpcSubnets": "subnet-0123abcd,subnet-4567abcd", "VpcSecurityGroups": "sg-0123abcd"}, inVpc,
			map[string]rights{"StepRole": {nil, named("step", "vpc")}, "StreamRole": {nil, named("stream", "vpc")}}},
		{"policies", map[string]string{"ToolPolicyArns": policies[0] + "," + policies[1]}, nil,
			map[string]rights{"StepRole": {policies, named("step")}, "StreamRole": {policies, named("stream")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := stack.Read(text, stack.Options{Name: "s", Parameters: tt.parameters})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]*network{"ApiFunction": nil, "StreamFunction": tt.network, "StepFunction": tt.network, "SweepFunction": nil, "TriggerFunction": nil}
			got := map[string]*network{}
			for id, f := range properties[struct{ VpcConfig *network }](t, s, "AWS::Lambda::Function") {
				got[id] = f.VpcConfig
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("networks (-want +got):\n%s", diff)
			}
			for id, r := range properties[rights](t, s, "AWS::IAM::Role") {
				if want, ok := tt.roles[id]; ok {
					if diff := cmp.Diff(want, r); diff != "" {
						t.Errorf("%s (-want +got):\n%s", id, diff)
					}
				} else if len(r.ManagedPolicyArns) > 0 || len(r.Policies) > 1 {
					t.Errorf("%s has %+v", id, r)
				}
			}
		})
	}
}

func named(names ...string) (policies []struct{ PolicyName string }) {
	for _, name := range names {
		policies = append(policies, struct{ PolicyName string }{name})
	}
	return policies
}

func TestHalfAVpcIsRefused(t *testing.T) {
	text := transform(t)
	for name, want := range map[string]string{
		"VpcSubnets":        "VpcSubnets needs VpcSecurityGroups.",
		"VpcSecurityGroups": "VpcSecurityGroups needs VpcSubnets.",
	} {
		s, err := stack.Read(text, stack.Options{Name: "s", Parameters: map[string]string{name: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Refusals(); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s alone: %q, %v; want %s", name, got, err, want)
		}
	}
}
