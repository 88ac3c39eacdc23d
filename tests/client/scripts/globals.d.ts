/* What scripts of others define: Swagger UI, and Django's admin site. */

declare function SwaggerUIBundle(options: object): { preauthorizeApiKey(scheme: string, key: string): void };

interface Window {
  django?: { jQuery?: (work: () => void) => void };
}
