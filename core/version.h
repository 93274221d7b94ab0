/* core/version.h - the release, as the program, its status and its certificates tell it */
#ifndef BS_CORE_VERSION_H
#define BS_CORE_VERSION_H

#define BS_VERSION "0.2.0"

#endif
