// Package profile finds the AWS account of a user of a laptop: the profile that
// AWS_PROFILE names, its SSO session, or keys in the environment. Functions have their
// role's keys in the environment and do not link this package, which has 2 MB.
package profile
