// The part of Foundation that the program of a bundle uses: names and signatures.
#pragma once

typedef signed char BOOL;
#define YES ((BOOL)1)
#define NO ((BOOL)0)
typedef unsigned long NSUInteger;
typedef unsigned long size_t;
#define nil ((id)0)

@class NSError, NSString, NSData;

__attribute__((objc_root_class))
@interface NSObject
+ (instancetype)alloc;
- (instancetype)init;
@end

@protocol NSCopying
@end

@interface NSString : NSObject
- (NSString *)stringByAppendingPathComponent:(NSString *)component;
@end

@interface NSNumber : NSObject
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithLong:(long)value;
+ (NSNumber *)numberWithLongLong:(long long)value;
@end

@interface NSData : NSObject
@property(readonly) const void *bytes;
@property(readonly) NSUInteger length;
@end

@interface NSMutableData : NSData
+ (instancetype)dataWithContentsOfFile:(NSString *)path
                               options:(NSUInteger)options
                                 error:(NSError **)error;
@end

@interface NSArray<Element> : NSObject
+ (instancetype)arrayWithObjects:(const Element[])objects count:(NSUInteger)count;
- (Element)objectAtIndexedSubscript:(NSUInteger)index;
@end

@interface NSMutableArray<Element> : NSArray<Element>
+ (instancetype)array;
- (void)addObject:(Element)object;
@end

void NSLog(NSString *format, ...) __attribute__((format(__NSString__, 1, 2)));
