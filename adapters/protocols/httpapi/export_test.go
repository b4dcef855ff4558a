package httpapi

// What tests of the handler ask about its routes.

// Route is a route.
type Route = route

// Routes are all routes.
func Routes() []Route { return allRoutes() }

// RouteRoots are the starts of their paths.
func RouteRoots() []string { return routeRoots[:] }
