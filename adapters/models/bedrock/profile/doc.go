// Package profile finds the AWS account of a person at a laptop: the profile that
// AWS_PROFILE names, its SSO session, or keys in the environment. Functions have their
// role's keys in the environment and do not link this, which is 2 MB.
package profile
