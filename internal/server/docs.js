// Shows the server's own description, and no other: there is no bar to enter an address in.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
});
