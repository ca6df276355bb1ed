#pragma once
#define NAN __builtin_nanf("")
double fabs(double);
double fmax(double, double);
