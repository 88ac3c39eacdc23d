/* Print the keys of texts that the scripts use, as JSON: what the first argument of each `say` can be, by its type. */

import ts from "typescript";

const file = new URL("tsconfig.json", import.meta.url).pathname;
const { options, fileNames } = ts.parseJsonConfigFileContent(ts.readConfigFile(file, ts.sys.readFile).config, ts.sys, new URL(".", import.meta.url).pathname);
const program = ts.createProgram(fileNames, options);
const checker = program.getTypeChecker();
const keys = new Set();

function visit(node) {
  if (ts.isCallExpression(node) && node.expression.getText() === "say") {
    const type = checker.getTypeAtLocation(node.arguments[0]);
    for (const { value } of type.isUnion() ? type.types : [type]) keys.add(value ?? node.getText());
  }
  ts.forEachChild(node, visit);
}

for (const source of program.getSourceFiles()) if (/\/static\/.*\.js$/.test(source.fileName)) visit(source);
console.log(JSON.stringify([...keys]));
