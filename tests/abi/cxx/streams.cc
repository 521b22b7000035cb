// Streams to the terminal, to text and to files.
#include "abi.h"

#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

int main(int, char **)
{
    std::ostringstream text;
    std::string word;
    text << std::hex << 255 << " " << std::setw(6) << std::setfill('0') << 42 << " " << std::fixed << std::setprecision(2) << 3.14159;
    std::cout << text.str() << std::endl;
    std::istringstream in("7 words here");
    int number;
    in >> number >> word;
    std::cout << number << word << std::endl;
    std::ifstream file("/proc/version");
    std::cout << file.good() << std::endl;
    std::ifstream none("/none");
    std::cout << none.good() << std::endl;
    return 0;
}
