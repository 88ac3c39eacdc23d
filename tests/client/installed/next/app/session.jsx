"use client";
export { default } from "../../session.jsx";
