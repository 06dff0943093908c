// Starts Swagger UI. A file of its own, because the page's policy allows no script inside the page.
"use strict";

SwaggerUIBundle({
	url: "openapi.yaml",
	dom_id: "#document",
	deepLinking: true,
	presets: [SwaggerUIBundle.presets.apis],
	layout: "BaseLayout",
	validatorUrl: null, // else it asks a service on the internet whether the document is valid
});
