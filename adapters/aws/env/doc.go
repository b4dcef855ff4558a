// Package env configures every AWS client in the same way, from the environment that
// Lambda sets: region, credentials, endpoint, timeouts, attempts. It does not read the
// SDK's configuration files or credential chain, which would cost start-up time.
package env
