export default { esbuild: { jsx: "automatic" }, build: { emptyOutDir: true } };
